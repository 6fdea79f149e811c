import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Generation, PromptLogView } from '../../src/core/api/calls.ts'
import { costOf } from '../../src/core/billing/pricing.ts'
import type { PricingFeedEntry } from '../../src/core/catalog/pricing-feed-view.ts'
import { CATALOGUE, type ErrorCode } from '../../src/core/kernel/errors.ts'
import { formatRate, formatUsd, parseRate, picoUsd, picoUsdPerToken } from '../../src/core/kernel/money.ts'
import { costLines, savedAgainstList } from '../../web/lib/calls/call-cost.ts'
import { callProblem } from '../../web/lib/calls/call-problem.ts'
import { curlOf, replayOf } from '../../web/lib/calls/call-replay.ts'
import { errorReason, errorRemedy, outcomeText } from '../../web/lib/error-reasons.ts'

const failed = (code: ErrorCode, attempts: Array<[outcome: string, status: number | null]>) =>
  callProblem({
    status: 'failed',
    error_code: code,
    finish_reason: null,
    attempts: attempts.map(([outcome, http_status]) => ({ outcome, http_status })),
  })

describe('why a call did not complete', () => {
  test('says what each attempt met, that nothing was charged, and what to do', () => {
    expect(
      failed('all_providers_failed', [
        ['server-error', 503],
        ['silent', null],
      ]),
    ).toEqual({
      title: 'All providers failed.',
      detail: '2 attempts: server error (HTTP 503), then no first token in time. Nothing was charged.',
      remedy: expect.stringContaining('Retry with growing delays.'),
    })
    expect(failed('request_timeout', [])?.detail).toBe('No provider was asked. Nothing was charged.')
    expect(failed('all_providers_failed', [['broken-stream', 200]])?.detail).toBe(
      '1 attempt: cut off. Nothing was charged.',
    )
  })

  test('is not the same for a broken completion as for a client that left, and null for a complete call', () => {
    const call = { error_code: null, finish_reason: null, attempts: [] }
    expect(callProblem({ ...call, status: 'completed', finish_reason: 'stop' })).toBeNull()
    expect(callProblem({ ...call, status: 'interrupted' })?.title).toBe('The completion broke off.')
    expect(callProblem({ ...call, status: 'cancelled' })).toMatchObject({
      title: 'The client disconnected.',
      remedy: null,
    })
  })

  test.each(Object.keys(CATALOGUE))('has words and a remedy for %s', (code) => {
    const { title, remedy } = failed(code as ErrorCode, [])!
    expect(title).toMatch(/^[A-Z][^_]+\.$/)
    expect(remedy).toMatch(/^[A-Z].+\.$/)
  })

  test.each([
    ['content_filter', "The provider's content filter ended the completion."],
    ['length', 'The completion reached its token limit.'],
  ])('says of a complete call that it ended early: %s', (finish_reason, title) => {
    const call = { error_code: null, finish_reason, attempts: [] }
    expect(callProblem({ ...call, status: 'completed' })?.title).toBe(title)
  })

  test('shows a code or an outcome that it does not know as the API names it', () => {
    expect([errorReason('new_code'), errorRemedy('new_code'), outcomeText('new-end')]).toEqual([
      'new_code',
      null,
      'new end',
    ])
  })
})

const PRICES = ['prompt', 'completion', 'prompt_audio', 'prompt_image', 'cache_read', 'cache_write'] as const

describe('the sum of a cost', () => {
  const rate = fc.nat(200_000_000).map((pico) => picoUsdPerToken(BigInt(pico)))
  const count = fc.nat(1_000_000)

  test('is what the gateway charges, whatever was used at whatever price', () => {
    fc.assert(
      fc.property(
        fc.record({
          prompt: rate,
          completion: rate,
          promptAudio: rate,
          promptImage: rate,
          cacheRead: rate,
          cacheWrite: rate,
          cacheWriteHour: rate,
          webSearch: rate,
        }),
        fc.tuple(count, count, count, count, count, count, count),
        (rates, [text, audio, image, cached, written, completion, searches]) => {
          const hour = Math.floor(written / 3)
          const prompt = text + audio + image + cached + written
          const usage = {
            promptTokens: prompt,
            completionTokens: completion,
            audioTokens: audio,
            imageTokens: image,
            cachedTokens: cached,
            cacheWriteTokens: written,
            cacheWriteHourTokens: hour,
            webSearches: searches,
          }
          const lines = costLines({
            usage: {
              prompt_tokens: prompt,
              completion_tokens: completion,
              total_tokens: prompt + completion,
              audio_tokens: audio,
              image_tokens: image,
              cached_tokens: cached,
              cache_write_tokens: written,
              cache_write_hour_tokens: hour,
              web_searches: searches,
              source: 'upstream',
            },
            rates: {
              prompt: formatRate(rates.prompt),
              completion: formatRate(rates.completion),
              prompt_audio: formatRate(rates.promptAudio),
              prompt_image: formatRate(rates.promptImage),
              cache_read: formatRate(rates.cacheRead),
              cache_write: formatRate(rates.cacheWrite),
              cache_write_hour: formatRate(rates.cacheWriteHour),
              web_search: formatRate(rates.webSearch),
              unit: 'usd_per_million_tokens',
              version: null,
            },
          })
          const sum = lines.reduce((total, line) => total + BigInt(line.count) * parseRate(line.rate), 0n)
          expect(formatUsd(sum)).toBe(formatUsd(picoUsd(costOf(usage, rates))))
        },
      ),
    )
  })

  const call: Pick<Generation, 'usage' | 'rates' | 'cost_usd' | 'byok'> = {
    usage: { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100, source: 'upstream' },
    rates: { prompt: '1.90', completion: '9.50', unit: 'usd_per_million_tokens', version: 'v1' },
    cost_usd: '0.00285',
    byok: false,
  }
  const entry = {
    prompt: '1.90',
    completion: '9.50',
    list_prompt: '2.00',
    list_completion: '10.00',
  } as PricingFeedEntry

  test('is compared with the list price while that is the one of the call', () => {
    expect(savedAgainstList(call, entry)).toEqual({ listUsd: '0.003', savedUsd: '0.00015', share: 0.05 })
    expect(savedAgainstList(call, { ...entry, prompt: '1.80' })).toBeNull()
    expect(savedAgainstList({ ...call, byok: true }, entry)).toBeNull()
    expect(savedAgainstList({ ...call, cost_usd: '0.00' }, entry)).toBeNull()
    expect(savedAgainstList({ ...call, rates: null }, entry)).toBeNull()
    expect(savedAgainstList(call, undefined)).toBeNull()
    expect(costLines({ ...call, rates: null })).toEqual([])
    expect(PRICES.filter((name) => name in entry)).toEqual(['prompt', 'completion'])
  })
})

describe('sending a call again', () => {
  const log = (request: unknown, isTruncated = false): PromptLogView => ({
    call_id: 'chatcmpl_1',
    request: typeof request === 'string' ? request : JSON.stringify(request),
    request_truncated: isTruncated,
    answer: '{}',
    answer_truncated: false,
    created_at: '2027-01-31T12:00:00.000Z',
    expires_at: '2027-02-01T12:00:00.000Z',
  })
  const asked = {
    model: 'gpt-5',
    temperature: 0.2,
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'When does it leave?' }] },
    ],
  }

  test('takes model, settings and message of a logged request to the playground', () => {
    const { settings, text } = replayOf('gpt-5', log(asked))
    expect(settings).toMatchObject({ models: ['gpt-5'], temperature: '0.2', system: 'Be brief.', top_p: '' })
    expect(text).toBe('When does it leave?')
  })

  test('takes only the model where nothing was logged, or the log was shortened', () => {
    for (const logged of [null, log('{"model":"gpt-5","mess', true)]) {
      expect(replayOf('gpt-5', logged)).toMatchObject({
        settings: { models: ['gpt-5'], system: '' },
        text: '',
      })
      expect(curlOf('gpt-5', undefined, logged, 'https://gateway.example')).toContain('Your message')
    }
  })

  test.each([
    ['/v2/chat/completions', asked],
    ['/v2/messages', { model: 'gpt-5', system: 'Be brief.', messages: [] }],
    ['/v2/responses', { model: 'gpt-5', input: 'When does it leave?' }],
  ])('writes a logged request for curl on its own wire: %s', (path, body) => {
    const command = curlOf('gpt-5', undefined, log(body), 'https://gateway.example')
    expect(command).toContain(`https://gateway.example${path}`)
    expect(command).toContain(JSON.stringify(body, null, 2).slice(2, 20))
  })

  test('writes a model that is none of chats with a request of its own kind', () => {
    expect(curlOf('embed-1', 'embeddings', null, 'https://gateway.example')).toContain('/v1/embeddings')
  })
})
