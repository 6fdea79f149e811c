import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { costOf } from '../../../../src/core/billing/pricing.ts'
import { settlementOf } from '../../../../src/core/billing/settlement.ts'
import { messagesOf } from '../../../../src/core/calls/kinds/call-kinds.ts'
import { readRates } from '../../../../src/core/catalog/token-rates.ts'
import { attemptFailure } from '../../../../src/core/failover/attempt-failure.ts'
import { rates } from '../../../helpers/planned-catalog.ts'
import { type Play, type Played, type PlayedRoute, playCall } from '../../../helpers/played-chain.ts'

const SAID = ['The quick ', 'brown fox']
const WHOLE = ['The qui', 'ck brown fox', ' jumps']
const TEXT = 'The quick brown fox jumps'
const BREAKS: Play = { says: SAID, end: 'stalled' }

const model = (modelId: string, plays: Play[], candidate: PlayedRoute['candidate'] = {}): PlayedRoute => ({
  plays,
  candidate: { modelId, ...candidate },
})

function recordOf({ outcome, envelope, catalog }: Played) {
  if (outcome.status !== 'completed') throw new Error(`it is ${outcome.status}`)
  const times = { claimedAt: 0, finishedAt: 0 }
  return settlementOf(outcome, envelope, catalog, times)
}

describe('a stream that broke after text', () => {
  const dear = { rate: { prompt: '9000000', completion: '9000000' }, rateVersion: 'v9' }
  const usage = { promptTokens: 7, completionTokens: 11 }

  test('a broken stream is continued by another model with the same text, under the first name and rate', async () => {
    const played = await playCall({
      routes: [
        model('a', [BREAKS]),
        {
          ...model('b', [{ says: WHOLE, usage }], dear),
          offer: { cost: rates(3, 4) },
        },
      ],
    })
    expect(played).toMatchObject({ text: TEXT, opened: [0], attempts: ['a stalled', 'b ok'] })
    expect(played.outcome.attempts).toMatchObject([{}, { rescued: true }])
    const record = recordOf(played)
    expect(record).toMatchObject({
      requestedModel: 'a',
      usage,
      chargePico: String(7 * 1_000_000 + 11 * 2_000_000),
      // What served it, and what that cost us.
      served: { modelId: 'a', rateVersion: 'v1', offerId: 'p1/m', cost: { prompt: '3', completion: '4' } },
    })
  })

  test('is asked of its own model first, and a rescue by that is charged as it', async () => {
    const played = await playCall({
      routes: [model('a', [BREAKS]), model('b', [{ says: WHOLE }]), model('a', [{ says: WHOLE, usage }])],
    })
    expect(played.attempts).toEqual(['a stalled', 'a ok'])
    expect(recordOf(played).served).toMatchObject({ offerId: 'p2/m', modelId: 'a' })
    expect(played.outcome.attempts.map(({ rescued }) => rescued)).toEqual([undefined, true])
  })

  test('ends truthfully where every model of the list says something else', async () => {
    const other = { says: ['The slow'] }
    const played = await playCall({
      routes: [model('a', [BREAKS]), model('b', [other]), model('c', [other])],
    })
    expect(played.outcome).toMatchObject({ status: 'interrupted', served: { modelId: 'a' } })
    expect(played.text).toBe(SAID.join(''))
    expect(played.attempts).toEqual(['a stalled', 'b rescue-mismatch', 'c rescue-mismatch'])
  })

  test('is rescued although one of the others refuses the request', async () => {
    const played = await playCall({
      routes: [model('a', [BREAKS]), model('b', [{ end: 'bad-request' }]), model('c', [{ says: WHOLE }])],
    })
    expect(played).toMatchObject({ text: TEXT, attempts: ['a stalled', 'b bad-request', 'c ok'] })
  })

  test('is never rescued by another model where the one is paid by its client and the other by us', async () => {
    const own = model('b', [{ says: WHOLE }], { providerKeyId: 'pkey_1' })
    const played = await playCall({ routes: [model('a', [BREAKS]), own] })
    expect(played.outcome.status).toBe('interrupted')
  })

  test('shows a text once, and is charged no more than the hold, whatever the others say', async () => {
    const pieces = fc.array(fc.constantFrom('a', 'ab', 'b', ' '), { maxLength: 5 })
    const ends = fc.constantFrom('stop', 'broken-stream', 'server-error', 'bad-request', 'rate-limited')
    const play = fc.record({
      says: pieces,
      end: ends,
      usage: fc.option(fc.record({ promptTokens: fc.nat(150), completionTokens: fc.nat(80) })),
    }) as fc.Arbitrary<Play>
    const routes = fc.array(
      fc.record({
        plays: fc.array(play, { minLength: 1, maxLength: 2 }),
        offer: fc.record({ assistantPrefill: fc.boolean() }),
        candidate: fc.record({
          modelId: fc.constantFrom('a', 'b', 'c'),
          completionLimit: fc.integer({ min: 1, max: 64 }),
          promptTokensBound: fc.integer({ min: 10, max: 100 }),
          rate: fc.record({
            prompt: fc.nat(9).map(String),
            completion: fc.nat(9).map(String),
          }),
        }),
      }),
      { minLength: 2, maxLength: 4 },
    )
    const check = async (given: PlayedRoute[]) => {
      const played = await playCall({ routes: given })
      const { outcome, text, opened, envelope } = played
      expect(opened.length).toBeLessThanOrEqual(1)
      if (!('message' in outcome)) return
      expect(outcome.message!.content ?? '').toBe(text)
      if (outcome.status !== 'completed') return
      const costs = envelope.candidates.map(({ rate, promptTokensBound, completionLimit }) =>
        costOf({ promptTokens: promptTokensBound, completionTokens: completionLimit }, readRates(rate)),
      )
      const { chargePico, usage: charged, served } = recordOf(played)
      expect(BigInt(chargePico)).toBe(costOf(charged, readRates(served!.rate)))
      expect(costs.some((held) => held >= BigInt(chargePico))).toBe(true)
      expect(outcome.served.modelId).toBe(envelope.candidates[opened[0]!]!.modelId)
    }
    await fc.assert(fc.asyncProperty(routes as fc.Arbitrary<PlayedRoute[]>, check))
  })
})

describe('a rescue by prefill', () => {
  const offer = { assistantPrefill: true }
  const roles = ({ requests }: Played) => requests.map(({ content }) => messagesOf(content).at(-1)!.role)

  test.each([400, 422])(
    'that the offer refuses with %i is asked again without it, at the same offer',
    async (httpStatus) => {
      const refusal = attemptFailure('bad-request', '', { httpStatus, hint: 'messages' })
      const played = await playCall({
        routes: [model('a', [BREAKS]), { ...model('a', [{ end: refusal }, { says: WHOLE }]), offer }],
      })
      expect(played).toMatchObject({ text: TEXT, attempts: ['a stalled', 'a prefill-refused', 'a ok'] })
      expect(roles(played)).toEqual(['user', 'assistant', 'user'])
    },
  )

  test('that makes the request too long is asked again without it', async () => {
    const plays: Play[] = [{ end: 'context-length' }, { says: WHOLE }]
    const played = await playCall({ routes: [model('a', [BREAKS]), { ...model('a', plays), offer }] })
    expect(played).toMatchObject({ text: TEXT, attempts: ['a stalled', 'a prefill-refused', 'a ok'] })
  })

  test('never repeats what the client has, where the provider returns the beginning again', async () => {
    const plays: Play[] = [
      { says: ['The quick brown', ' fox jum', 'ps'], usage: { promptTokens: 9, completionTokens: 9 } },
    ]
    const played = await playCall({ routes: [model('a', [BREAKS]), { ...model('a', plays), offer }] })
    expect(played).toMatchObject({ text: TEXT, attempts: ['a stalled', 'a ok'] })
    expect(played.outcome).toMatchObject({ usageSource: 'counted', usage: { completionTokens: 5 } })
  })

  test('that is cut in the middle of a repetition is no answer', async () => {
    const plays: Play[] = [{ says: ['The quick'], end: 'length' }]
    const played = await playCall({ routes: [model('a', [BREAKS]), { ...model('a', plays), offer }] })
    expect(played.outcome).toMatchObject({ status: 'interrupted', message: { content: SAID.join('') } })
  })
})

describe('a client’s own prefill', () => {
  const messages = [
    { role: 'user' as const, content: 'hello world' },
    { role: 'assistant' as const, content: 'Once upon' },
  ]

  test.each([true, false])(
    'is not given back by a provider that repeats it (streamed: %s)',
    async (stream) => {
      const plays: Play[] = [{ says: ['Once', ' upon a time'] }]
      const echoing = { ...model('a', plays), offer: { provider: mistral() } }
      const { outcome } = await playCall({ routes: [echoing], messages, stream })
      expect(outcome).toMatchObject({ message: { content: ' a time' } })
      const other = await playCall({ routes: [model('a', plays)], messages, stream })
      expect(other.outcome).toMatchObject({ message: { content: 'Once upon a time' } })
    },
  )
})

const mistral = () => ({
  id: 'p0',
  name: 'p0',
  wire: 'chat-completions' as const,
  baseUrl: 'http://none',
  apiKeyEnv: null,
  zdr: true,
  dataCollection: 'deny' as const,
  limitParameter: 'max_tokens' as const,
  quirks: { prefillField: 'prefix' as const },
})
