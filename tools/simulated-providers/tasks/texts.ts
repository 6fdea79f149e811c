import { textHash } from '../completion.ts'
import { isObject, listOf } from '../simulated-request.ts'
import { hasOnly, jsonReply, reportedCount, type SimulatedTask, tokensOf } from './simulated-task.ts'

/** Endpoints whose requests are texts: vectors, scores and verdicts about them. */

const INPUTS_MAX = 2_048

/** Vectors of unit length: texts that share words are near each other. */
export const EMBEDDINGS: SimulatedTask = {
  reply({ fields, model }, { behaviour, provider }) {
    if (!hasOnly(fields, ['model', 'input', 'encoding_format', 'dimensions', 'user'])) return null
    const { dimensions = behaviour.dimensions, encoding_format: encoding = 'float' } = fields
    const inputs = embeddingInputs(fields.input)
    if (!inputs || (encoding !== 'float' && encoding !== 'base64')) return null
    if (!isCount(dimensions) || dimensions > behaviour.dimensions) return null
    const data = inputs.map((input, index) => {
      const vector = vectorOf(typeof input === 'string' ? wordsOf(input) : input.map(String), dimensions)
      const embedding = encoding === 'float' ? [...vector] : Buffer.from(vector.buffer).toString('base64')
      return { object: 'embedding', index, embedding }
    })
    const tokens = reportedCount(
      inputs.reduce((sum, input) => sum + (typeof input === 'string' ? tokensOf([input]) : input.length), 0),
      behaviour,
    )
    return jsonReply(
      {
        object: 'list',
        data: behaviour.style === 'empty' ? [] : data,
        model,
        provider,
        ...(tokens !== undefined && { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
      },
      behaviour,
    )
  },
}

/** One text, several, or the token ids of one or several; null for anything else. */
function embeddingInputs(input: unknown): Array<string | number[]> | null {
  if (typeof input === 'string') return input === '' ? null : [input]
  if (!Array.isArray(input) || input.length === 0 || input.length > INPUTS_MAX) return null
  const isTokens = (value: unknown): value is number[] =>
    Array.isArray(value) && value.length > 0 && value.every((token) => Number.isInteger(token))
  if (isTokens(input)) return [input]
  const areTexts = input.every((value) => typeof value === 'string' && value !== '')
  return areTexts || input.every(isTokens) ? input : null
}

const COMPONENTS_PER_WORD = 8

/** The sum of some components for each word, scaled to length one. */
function vectorOf(words: readonly string[], dimensions: number): Float32Array {
  const vector = new Float32Array(dimensions)
  for (const word of words) {
    for (let part = 0; part < COMPONENTS_PER_WORD; part++) {
      const seed = textHash(`${part}:${word}`)
      vector[seed % dimensions]! += seed & 0x8000_0000 ? -1 : 1
    }
  }
  const length = Math.hypot(...vector)
  // Words that cancel each other out, or none.
  if (length === 0) vector[0] = 1
  return length === 0 ? vector : vector.map((component) => component / length)
}

/** Documents by the share of the query's words that they have. */
export const RERANK: SimulatedTask = {
  reply({ fields, model }, { behaviour, provider, id }) {
    if (
      !hasOnly(fields, ['model', 'query', 'documents', 'top_n', 'return_documents', 'max_tokens_per_doc'])
    ) {
      return null
    }
    const { query, top_n: wanted, return_documents: returnsDocuments = false } = fields
    const documents = listOf(fields.documents).map((document) =>
      isObject(document) ? document.text : document,
    )
    if (typeof query !== 'string' || documents.length === 0 || (wanted !== undefined && !isCount(wanted))) {
      return null
    }
    if (!documents.every((document) => typeof document === 'string')) return null
    const words = new Set(wordsOf(query))
    const scored = documents.map((text, index) => ({
      index,
      relevance_score: relevance(words, text),
      ...(returnsDocuments === true && { document: { text } }),
    }))
    const results = scored
      .sort((one, other) => other.relevance_score - one.relevance_score || one.index - other.index)
      .slice(0, wanted)
    const searches = reportedCount(Math.ceil(documents.length / 100), behaviour)
    const tokens = reportedCount(tokensOf([...documents, query]), behaviour)
    return jsonReply(
      {
        id,
        model,
        provider,
        results: behaviour.style === 'empty' ? [] : results,
        ...(tokens !== undefined && {
          meta: { api_version: { version: '2' }, billed_units: { search_units: searches } },
          usage: { prompt_tokens: tokens, total_tokens: tokens },
        }),
      },
      behaviour,
    )
  },
}

const relevance = (query: ReadonlySet<string>, document: string): number => {
  const words = new Set(wordsOf(document))
  const shared = [...query].filter((word) => words.has(word)).length
  return query.size === 0 ? 0 : shared / query.size
}

const CATEGORIES = [
  'harassment',
  'harassment/threatening',
  'hate',
  'hate/threatening',
  'illicit',
  'illicit/violent',
  'self-harm',
  'self-harm/instructions',
  'self-harm/intent',
  'sexual',
  'sexual/minors',
  'violence',
  'violence/graphic',
]

/** A text is flagged for the categories that it names. */
export const MODERATIONS: SimulatedTask = {
  reply({ fields, model }, { behaviour, provider, id }) {
    if (!hasOnly(fields, ['model', 'input'])) return null
    const texts = moderationTexts(fields.input)
    if (!texts) return null
    const results = texts.map((text) => {
      const named = CATEGORIES.map((category) => [category, text.includes(category)] as const)
      const score = ([category, flagged]: readonly [string, boolean]) => [category, flagged ? 0.97 : 0.0001]
      return {
        flagged: named.some(([, flagged]) => flagged),
        categories: Object.fromEntries(named),
        category_scores: Object.fromEntries(named.map(score)),
        category_applied_input_types: Object.fromEntries(
          named.map(([category, flagged]) => [category, flagged ? ['text'] : []]),
        ),
      }
    })
    return jsonReply({ id, model, provider, results: behaviour.style === 'empty' ? [] : results }, behaviour)
  },
}

/** Texts with a verdict each; the parts of one content have one together. */
function moderationTexts(input: unknown): string[] | null {
  if (typeof input === 'string') return [input]
  const entries = listOf(input)
  if (entries.length === 0) return null
  if (entries.every((entry) => typeof entry === 'string')) return [...entries]
  if (!entries.every((entry) => isObject(entry) && (entry.type === 'text' || entry.type === 'image_url')))
    return null
  return [
    entries.map((entry) => (isObject(entry) && typeof entry.text === 'string' ? entry.text : '')).join(' '),
  ]
}

const wordsOf = (text: string): string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []

const isCount = (value: unknown): value is number => Number.isInteger(value) && Number(value) >= 1
