import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createGoogleGenerateContentClient } from '../../workers/providers/google-generate-content/client.ts'
import { createTransport, type Transport } from '../../workers/providers/transport.ts'
import {
  event,
  offerAt,
  type ScriptedProvider,
  startScriptedProvider,
  streams,
} from '../helpers/scripted-provider.ts'

let provider: ScriptedProvider
let transport: Transport

beforeAll(() => {
  transport = createTransport({ connectTimeoutMs: 1_000 })
})
afterAll(() => transport.close())
beforeEach(async () => {
  provider = await startScriptedProvider()
  return () => provider.close()
})

const chunk = (text: string, finishReason: string, output: number) =>
  event({
    candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, finishReason }],
    usageMetadata: { promptTokenCount: 7, candidatesTokenCount: output },
  })

async function answerOf(body: string) {
  provider.play(streams(body))
  let text = ''
  const client = createGoogleGenerateContentClient({
    transport,
    environment: { ACME_API_KEY: 'key' },
    connectTimeoutMs: 1_000,
    now: Date.now,
  })
  const { result } = await client.attempt(
    {
      offer: offerAt(provider.baseUrl),
      messages: [{ role: 'user', content: 'hello' }],
      parameters: {},
      completionLimit: 64,
      limits: { firstTokenMs: 5_000, idleMs: 5_000, totalMs: 10_000 },
      signal: new AbortController().signal,
    },
    {
      text: (piece) => {
        text += piece
      },
      refusal: () => undefined,
      toolCalls: () => undefined,
    },
  )
  return { text, result }
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
})
