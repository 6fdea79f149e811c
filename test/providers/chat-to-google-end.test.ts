import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { SamplingParameters } from '../../src/core/calls/chat-request.ts'
import { createSign } from '../../src/providers/credentials/create-sign.ts'
import {
  createProviderClients,
  createTransport,
  type Transport,
} from '../../src/providers/provider-clients.ts'
import { WIRE_MAPPINGS } from '../../src/providers/wires.ts'
import { takenApart } from '../helpers/attempt-result.ts'
import {
  event,
  offerAt,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
  streams,
  streamsAndBreaks,
  streamsOpenEnded,
} from '../helpers/scripted-provider.ts'

let provider: ScriptedProvider
let transport: Transport

beforeAll(() => {
  transport = createTransport({ connectTimeoutMs: 30_000 })
})
afterAll(() => transport.close())
beforeEach(async () => {
  provider = await startScriptedProvider()
  return () => provider.close()
})

const chunk = (text: string, finishReason: string | null, output: number) =>
  event({
    candidates: [
      { index: 0, content: { role: 'model', parts: [{ text }] }, ...(finishReason && { finishReason }) },
    ],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: output },
  })

const STOPPED = { index: 0, content: { role: 'model', parts: [] }, finishReason: 'STOP' }

const PATIENT = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 }

async function answerOf(script: string | Script, limits = PATIENT, parameters: SamplingParameters = {}) {
  provider.play(typeof script === 'string' ? streams(script) : script)
  let text = ''
  const client = createProviderClients({
    sign: createSign(Date.now),
    wires: WIRE_MAPPINGS,
    transport,
    ourKey: ({ apiKeyEnv }) => (apiKeyEnv === null ? null : 'key'),
    connectTimeoutMs: 30_000,
    now: Date.now,
  })('google-generate-content')
  const outcome = await client.attempt(
    {
      offer: offerAt(provider.baseUrl),
      content: { kind: 'chat', messages: [{ role: 'user', content: 'hello' }], parameters },
      accountId: 'acct_1',
      completionLimit: 64,
      limits,
      signal: new AbortController().signal,
    },
    ([kind, content]) => {
      if (kind === 'text') text += content
    },
  )
  const { result, produced } = takenApart(outcome)
  return { text, result, tier: produced.tier }
}

describe('an answer with a finish reason in every chunk', () => {
  test('is read to the end of the stream, with the last reason and usage', async () => {
    const stream = chunk('One ', 'STOP', 1) + chunk('two ', 'STOP', 2) + chunk('three', 'MAX_TOKENS', 3)
    expect(await answerOf(stream)).toEqual({
      text: 'One two three',
      result: { kind: 'finished', reason: 'length', usage: { promptTokens: 7, completionTokens: 3 } },
    })
  })

  test('is not whole when an error comes after one of them', async () => {
    const broken = chunk('One ', 'STOP', 1) + event({ error: { code: 503, status: 'UNAVAILABLE' } })
    expect((await answerOf(broken)).result).toMatchObject({
      kind: 'failed',
      failure: { kind: 'server-error' },
    })
  })

  const stops = chunk('One ', 'STOP', 1) + chunk('two ', 'STOP', 2)
  const stopsAfterPieces = chunk('One ', null, 1) + stops

  test.each([
    ['a break', streamsAndBreaks, PATIENT, 'broken-stream'],
    ['silence', streamsOpenEnded, { ...PATIENT, idleMs: 150 }, 'stalled'],
    ['the end of the time', streamsOpenEnded, { ...PATIENT, totalMs: 150 }, 'call-timeout'],
  ] as const)('is not whole at %s', async (_what, script, limits, kind) => {
    for (const pieces of [stops, stopsAfterPieces]) {
      const { result } = await answerOf(script(pieces), limits)
      expect(result).toMatchObject({ kind: 'failed', failure: { kind } })
    }
  })
})

describe('an answer whose last chunk alone has a finish reason', () => {
  const pieces = chunk('One ', null, 1) + chunk('two', null, 2)

  test.each([
    ['beside text', chunk('.', 'STOP', 3)],
    ['alone', chunk('', 'STOP', 2)],
  ])('is whole once that is there, %s, however the connection ends', async (_where, last) => {
    const { result, text } = await answerOf(streamsAndBreaks(pieces + last))
    expect(result).toMatchObject({ kind: 'finished', reason: 'stop' })
    expect(text).toMatch(/^One two/)
  })

  test('is broken before that', async () => {
    const { result } = await answerOf(streamsAndBreaks(pieces))
    expect(result).toMatchObject({ kind: 'failed', failure: { kind: 'broken-stream' } })
  })
})

test.each([
  ['FLEX', 'flex'],
  ['STANDARD', 'default'],
])('the service tier that was served is read off the usage: %s', async (serviceTier, tier) => {
  const stream = chunk('Hi', null, 1) + event({ candidates: [STOPPED], usageMetadata: { serviceTier } })
  const asked = { passed: { service_tier: 'flex' as const } }
  expect(await answerOf(stream, PATIENT, asked)).toMatchObject({ result: { kind: 'finished' }, tier })
  expect((await answerOf(stream)).tier).toBeUndefined()
})

test('tokens of audio, images and the cache are read off the usage of the prompt', async () => {
  const details = [
    { modality: 'TEXT', tokenCount: 2 },
    { modality: 'AUDIO', tokenCount: 4 },
    { modality: 'VIDEO', tokenCount: 9 },
    { modality: 'IMAGE', tokenCount: 1 },
  ]
  const { result } = await answerOf(
    event({
      candidates: [{ index: 0, content: { role: 'model', parts: [{ text: 'a' }] }, finishReason: 'STOP' }],
      usageMetadata: {
        promptTokenCount: 16,
        candidatesTokenCount: 1,
        cachedContentTokenCount: 3,
        promptTokensDetails: details,
      },
    }),
  )
  expect(result).toMatchObject({
    usage: { promptTokens: 16, completionTokens: 1, audioTokens: 4, imageTokens: 1, cachedTokens: 3 },
  })
})
