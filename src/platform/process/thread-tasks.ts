import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { type ParsedJson, parseClientJson } from '../../core/json/client-json.ts'
import { repairJson } from '../../core/json/json-repair.ts'
import type { JsonLimits } from '../../core/json/json-text.ts'
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

/** Parses a body as the API does. */
const parseJson = ({ bytes, limits }: { bytes: Uint8Array; limits: JsonLimits }): ParsedJson =>
  parseClientJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), limits)

/** Runs a function of a module, which few threads ever load. */
async function load({
  module,
  name,
  input,
}: {
  module: string
  name: string
  input: unknown
}): Promise<unknown> {
  return (await import(module))[name](input)
}

/** Completes as soon as the thread runs. */
const start = (): void => undefined

export const threadTasks = { start, countTokens, repairJson, parseJson, load }

/** Entry point of a thread: runs the named task. */
export default <Name extends keyof typeof threadTasks>({
  name,
  input,
}: {
  name: Name
  input: Parameters<(typeof threadTasks)[Name]>[0]
}) => (threadTasks[name] as (given: typeof input) => unknown)(input)
