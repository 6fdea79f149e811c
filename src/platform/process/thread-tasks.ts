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

/** The tasks of a ThreadPool. Every task is a pure function of its input. */

/** Loaded only in threads that count tokens. */
async function loadVocabulary(): Promise<BytePairVocabulary> {
  const { O200K_TOKEN_SPLIT_REGEX } = await import('gpt-tokenizer/encodingParams/constants')
  const file = fileURLToPath(import.meta.resolve('gpt-tokenizer/data/o200k_base.tiktoken'))
  return new BytePairVocabulary(await readFile(file), O200K_TOKEN_SPLIT_REGEX)
}
let vocabulary: ReturnType<typeof loadVocabulary> | null = null

/** Counts tokens of texts in the o200k_base vocabulary, each text separately. Special tokens count as plain text. */
async function countTokens(texts: readonly string[]): Promise<number> {
  vocabulary ??= loadVocabulary()
  const loaded = await vocabulary
  return texts.reduce((tokens, text) => tokens + loaded.count(text), 0)
}

export type ParsedJson =
  | { kind: 'value'; value: unknown; exact: ExactJson | undefined }
  | { kind: Exclude<JsonScan, 'ok'> }
  | { kind: 'invalid' }

/** Parses a body as the API does, without `__proto__`. */
function parseJson({ bytes, limits }: { bytes: Uint8Array; limits: JsonLimits }): ParsedJson {
  const json = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const scan = scanJson(json, limits)
  if (scan !== 'ok') return { kind: scan }
  try {
    const text = json.toString()
    const value: unknown = parse(text, { protoAction: 'remove', constructorAction: 'ignore' })
    return { kind: 'value', value, exact: exactJsonOf(text, value) }
  } catch {
    // The caller reports the error to the sender of the body.
    return { kind: 'invalid' }
  }
}

/** Renders an invoice as PDF. Loaded on use, since few threads ever render one. */
async function printInvoice(invoice: InvoiceDocument): Promise<Uint8Array> {
  const { invoicePdf } = await import('../documents/invoice-pdf.ts')
  return invoicePdf(invoice)
}

/** Completes as soon as the thread runs. */
const start = (): void => undefined

export const threadTasks = { start, countTokens, repairJson, parseJson, printInvoice }

/** Entry point of a thread: runs the named task. */
export default <Name extends keyof typeof threadTasks>({
  name,
  input,
}: {
  name: Name
  input: Parameters<(typeof threadTasks)[Name]>[0]
}) => (threadTasks[name] as (given: typeof input) => unknown)(input)
