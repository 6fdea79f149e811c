import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parse } from 'secure-json-parse'
import { repairJson } from '../../core/json/json-repair.ts'
import {
  type ExactJson,
  exactJsonOf,
  type JsonLimits,
  type JsonScan,
  scanJson,
} from '../../core/json/json-text.ts'
import type { InvoiceDocument } from '../../core/payments/invoice.ts'
import { BytePairVocabulary } from '../../core/text-tokens/byte-pair-vocabulary.ts'

/** What the threads of a ThreadPool can do. Every task is a pure function of its input. */

/** Only threads that count load the vocabulary. */
async function loadVocabulary(): Promise<BytePairVocabulary> {
  const { O200K_TOKEN_SPLIT_REGEX } = await import('gpt-tokenizer/encodingParams/constants')
  const file = fileURLToPath(import.meta.resolve('gpt-tokenizer/data/o200k_base.tiktoken'))
  return new BytePairVocabulary(await readFile(file), O200K_TOKEN_SPLIT_REGEX)
}
let vocabulary: ReturnType<typeof loadVocabulary> | null = null

/** Tokens of texts in the o200k_base vocabulary, each text by itself. What looks like a special token is text. */
async function countTokens(texts: readonly string[]): Promise<number> {
  vocabulary ??= loadVocabulary()
  const loaded = await vocabulary
  return texts.reduce((tokens, text) => tokens + loaded.count(text), 0)
}

export type ParsedJson =
  | { kind: 'value'; value: unknown; exact: ExactJson | undefined }
  | { kind: Exclude<JsonScan, 'ok'> }
  | { kind: 'invalid' }

/** Parses a body as the API does, `__proto__` left out. */
function parseJson({ bytes, limits }: { bytes: Uint8Array; limits: JsonLimits }): ParsedJson {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const scan = scanJson(json, limits)
  if (scan !== 'ok') return { kind: scan }
  try {
    const text = json.toString()
    const value: unknown = parse(text, { protoAction: 'remove', constructorAction: 'ignore' })
    return { kind: 'value', value, exact: exactJsonOf(text, value) }
  } catch {
    // What is wrong with a body is its sender's to find.
    return { kind: 'invalid' }
  }
}

/** An invoice as PDF. Few threads ever make one, so only those load what it takes. */
async function printInvoice(invoice: InvoiceDocument): Promise<Uint8Array> {
  const { invoicePdf } = await import('../documents/invoice-pdf.ts')
  return invoicePdf(invoice)
}

/** Done as soon as the thread runs. */
const start = (): void => undefined

export const threadTasks = { start, countTokens, repairJson, parseJson, printInvoice }

/** The one entry of a thread: runs the task of that name. */
export default <Name extends keyof typeof threadTasks>({
  name,
  input,
}: {
  name: Name
  input: Parameters<(typeof threadTasks)[Name]>[0]
}) => (threadTasks[name] as (given: typeof input) => unknown)(input)
