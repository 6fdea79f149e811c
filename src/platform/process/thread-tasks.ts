import { parse } from 'secure-json-parse'
import type { InvoiceDocument } from '../../core/billing/invoice.ts'
import { repairJson } from '../../core/json/json-repair.ts'
import {
  type ExactJson,
  exactJsonOf,
  type JsonLimits,
  type JsonScan,
  scanJson,
} from '../../core/json/json-text.ts'
import { textPieces } from '../../core/kernel/text-pieces.ts'

/** What the threads of a ThreadPool can do. Every task is a pure function of its input. */

/** Long runs are remembered whole: so many of them stay within a few megabytes. */
const REMEMBERED_RUNS = 5_000
/** What looks like a special token in a text is text. */
const NO_SPECIALS = { disallowedSpecial: new Set<string>() }

/** The vocabulary takes 80 MB and a third of a second, so only threads that count load it. */
async function loadVocabulary() {
  const vocabulary = await import('gpt-tokenizer/encoding/o200k_base')
  vocabulary.setMergeCacheSize(REMEMBERED_RUNS)
  return vocabulary
}
let vocabulary: ReturnType<typeof loadVocabulary> | null = null

/** Tokens of texts in the o200k_base vocabulary, each text by itself. */
async function countTokens(texts: readonly string[]): Promise<number> {
  vocabulary ??= loadVocabulary()
  const { countTokens: count } = await vocabulary
  let tokens = 0
  for (const text of texts) for (const piece of textPieces(text)) tokens += count(piece, NO_SPECIALS)
  return tokens
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
