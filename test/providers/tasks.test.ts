import { describe, expect, test } from 'vitest'
import type { CompletionEvent } from '../../src/core/calls/completion.ts'
import type { ResultContent } from '../../src/core/calls/kinds/call-kinds.ts'
import type { ProviderQuirks } from '../../src/core/catalog/catalog.ts'
import { results } from '../../src/providers/kinds/provider-kinds.ts'
import type { AttemptRequest } from '../../src/providers/wire.ts'
import { offer, provider } from '../helpers/planned-catalog.ts'

const EMBEDDINGS: ResultContent = { kind: 'embeddings', input: ['one', 'two'], encoding: 'float' }
const RERANK: ResultContent = { kind: 'rerank', query: 'q', documents: ['a', 'b'], returnDocuments: false }
const MODERATION: ResultContent = { kind: 'moderation', input: ['one', 'two'] }

function requestOf(content: ResultContent, quirks: ProviderQuirks = {}): AttemptRequest<ResultContent> {
  const acme = provider('acme', { baseUrl: 'https://acme.test/v1', quirks })
  return {
    accountId: 'acct_1',
    offer: offer(acme, 1, {}, 'model-1'),
    content,
    completionLimit: 0,
    limits: { firstTokenMs: 1, idleMs: 1, totalMs: 1 },
    signal: new AbortController().signal,
  }
}

function sent(task: ResultContent, quirks?: ProviderQuirks) {
  const { url, body } = results.request(requestOf(task, quirks), 'secret')
  return [url, JSON.parse(String(body))]
}

function read(task: ResultContent, reply: unknown) {
  const events: CompletionEvent[] = []
  const reader = results.openReader(requestOf(task))
  const reading = reader.whole(JSON.stringify(reply), (event) => events.push(event))
  const [json] = events.flatMap((event) => (event[0] === 'result' ? [event[1]] : []))
  const usage = events.find((event) => event[0] === 'usage')?.[1]
  return { reading, answer: json === undefined ? undefined : JSON.parse(json), usage }
}

describe('a request', () => {
  test('goes beside the chat completions, with nothing but its fields', () => {
    expect(sent(EMBEDDINGS)).toEqual([
      'https://acme.test/v1/embeddings',
      { model: 'model-1', input: ['one', 'two'] },
    ])
    expect(sent({ ...RERANK, topN: 1, returnDocuments: true })).toEqual([
      'https://acme.test/v1/rerank',
      { model: 'model-1', query: 'q', documents: ['a', 'b'] },
    ])
    expect(sent(MODERATION)).toEqual([
      'https://acme.test/v1/moderations',
      { model: 'model-1', input: ['one', 'two'] },
    ])
  })

  test('follows the quirks of its provider', () => {
    expect(sent(RERANK, { taskUrls: { rerank: 'https://other.test/v2/rerank' } })[0]).toBe(
      'https://other.test/v2/rerank',
    )
    const short: ResultContent = { kind: 'embeddings', input: ['a'], dimensions: 4, encoding: 'base64' }
    expect(sent(short)[1]).toEqual({ model: 'model-1', input: ['a'], dimensions: 4 })
    expect(sent(short, { dimensionsField: 'output_dimension', base64Vectors: true })[1]).toEqual({
      model: 'model-1',
      input: ['a'],
      output_dimension: 4,
      encoding_format: 'base64',
    })
  })
})

describe('a reply with vectors', () => {
  const data = (...vectors: unknown[]) => ({
    data: vectors.map((embedding, index) => ({ index, embedding, provider: 'acme' })),
    usage: { prompt_tokens: 3, total_tokens: 3 },
  })

  test('comes in the order of the inputs, without what else its provider says', () => {
    const { data: list, usage } = data([1, 0], [0, 1])
    expect(read(EMBEDDINGS, { data: list.toReversed(), usage })).toEqual({
      reading: 'ok',
      answer: [
        { object: 'embedding', index: 0, embedding: [1, 0] },
        { object: 'embedding', index: 1, embedding: [0, 1] },
      ],
      usage: { promptTokens: 3, completionTokens: 0 },
    })
  })

  test('is the same in base64, whichever of the two its provider gives', () => {
    const base64 = Buffer.from(Float32Array.of(0.5, -0.25).buffer).toString('base64')
    const inBase64: ResultContent = { kind: 'embeddings', input: ['a'], encoding: 'base64' }
    expect(read(inBase64, data([0.5, -0.25])).answer[0].embedding).toBe(base64)
    expect(read(inBase64, data(base64)).answer[0].embedding).toBe(base64)
    expect(read({ ...inBase64, encoding: 'float' }, data(base64)).answer[0].embedding).toEqual([0.5, -0.25])
  })

  test.each([
    ['too few', data([1, 0])],
    ['too many', data([1, 0], [0, 1], [1, 1])],
    ['one twice', { data: [0, 0].map((index) => ({ index, embedding: [1] })) }],
    ['of different lengths', data([1, 0], [1])],
    ['empty', data([], [])],
    ['no numbers', data([1, null], [0, 1])],
    ['no floats', data('AAA=', 'AAA=')],
    ['more numbers than one answer holds', data(Array(140_000).fill(1), Array(140_000).fill(1))],
    ['none', {}],
  ])('%s is unreadable', (_, reply) => {
    expect(read(EMBEDDINGS, reply).reading).toBe('malformed')
  })

  test('of another length than was asked for is unreadable', () => {
    const task: ResultContent = {
      kind: 'embeddings',
      input: ['one', 'two'],
      dimensions: 3,
      encoding: 'float',
    }
    expect(read(task, data([1, 0], [0, 1])).reading).toBe('malformed')
  })
})

describe('a reply with scores', () => {
  const scores = [
    { index: 0, relevance_score: 0.1 },
    { index: 1, relevance_score: 0.9, document: { text: 'something else' } },
  ]

  test.each([
    [
      'results and searches',
      { results: scores, meta: { billed_units: { search_units: 1 } } },
      { promptTokens: 0, units: 1 },
    ],
    ['data and tokens', { data: scores, usage: { total_tokens: 7 } }, { promptTokens: 7 }],
  ])('has the best first: %s', (_, reply, usage) => {
    expect(read({ ...RERANK, topN: 1, returnDocuments: true }, reply)).toEqual({
      reading: 'ok',
      answer: [{ index: 1, relevance_score: 0.9, document: { text: 'b' } }],
      usage: { ...usage, completionTokens: 0 },
    })
  })

  test('that leaves a document out is unreadable', () => {
    expect(read(RERANK, { results: scores.slice(1) }).reading).toBe('malformed')
  })
})

test('a reply with verdicts is flagged by its categories where it does not say so', () => {
  const results = [
    { categories: { violence: true, by: 'acme' }, category_scores: { violence: 1 } },
    { flagged: false },
  ]
  expect(read(MODERATION, { results, model: 'secret' }).answer).toEqual([
    { flagged: true, categories: { violence: true }, category_scores: { violence: 1 } },
    { flagged: false, categories: {}, category_scores: {} },
  ])
  expect(read(MODERATION, { results: results.slice(1) }).reading).toBe('malformed')
})

test('an error in a reply is the failure of its provider', () => {
  expect(read(EMBEDDINGS, { error: { message: 'no' } }).reading).toEqual({ error: { message: 'no' } })
})
