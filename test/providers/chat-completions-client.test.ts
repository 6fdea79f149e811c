import { setTimeout as delay } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { SamplingParameters } from '../../src/core/calls/chat-request.ts'
import { healthEffect } from '../../src/core/failover/circuit-breaker.ts'
import { createSign } from '../../src/providers/credentials/create-sign.ts'
import {
  createProviderClients,
  createTransport,
  type Transport,
} from '../../src/providers/provider-clients.ts'
import type { AttemptRequest } from '../../src/providers/wire.ts'
import { WIRE_MAPPINGS } from '../../src/providers/wires.ts'
import { takenApart } from '../helpers/attempt-result.ts'
import {
  DONE,
  event,
  finishEvent,
  hangs,
  offerAt,
  refuses,
  type Script,
  type ScriptedProvider,
  startScriptedProvider,
  streams,
  streamsAndBreaks,
  streamsOpenEnded,
  textEvent,
  usageEvent,
  wholeStream,
} from '../helpers/scripted-provider.ts'
import { pass, stopClock } from '../helpers/stopped-clock.ts'

const PATIENT = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 }

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

interface Heard {
  end: ReturnType<typeof takenApart>
  text: string
  pieces: string[]
  toolCalls: unknown[]
}

async function attempt(
  changes: Partial<AttemptRequest> = {},
  onText?: (text: string) => void,
  parameters: SamplingParameters = {},
): Promise<Heard> {
  const client = createProviderClients({
    sign: createSign(Date.now),
    wires: WIRE_MAPPINGS,
    transport,
    ourKey: ({ apiKeyEnv }) => (apiKeyEnv === 'ACME_API_KEY' ? 'secret-key' : null),
    connectTimeoutMs: 30_000,
    now: Date.now,
  })('chat-completions')
  const pieces: string[] = []
  const toolCalls: unknown[] = []
  const outcome = await client.attempt(
    {
      offer: offerAt(provider.baseUrl),
      content: { kind: 'chat', messages: [{ role: 'user', content: 'hello' }], parameters },
      accountId: 'acct_1',
      completionLimit: 64,
      limits: PATIENT,
      signal: new AbortController().signal,
      ...changes,
    },
    ([kind, content]) => {
      if (kind === 'text' || kind === 'refusal') pieces.push(content)
      if (kind === 'text') onText?.(content)
      if (kind === 'tool-calls') toolCalls.push(...content)
    },
  )
  return { end: takenApart(outcome), text: pieces.join(''), pieces, toolCalls }
}

const FINISHED = { kind: 'finished', reason: 'stop', usage: { promptTokens: 7, completionTokens: 11 } }
const failed = (kind: string, more: object = {}) => ({ kind: 'failed', failure: { kind, ...more } })

describe('the request', () => {
  test('carries what is forwarded, and nothing else', async () => {
    provider.play(streams(wholeStream('ok')))
    await attempt({}, undefined, { temperature: 0.5, response_format: { type: 'json_object' } })
    const [request] = provider.requests
    expect(request?.path).toBe('/v1/chat/completions')
    expect(request?.headers).toMatchObject({
      authorization: 'Bearer secret-key',
      'accept-encoding': 'identity',
    })
    expect(request?.body).toEqual({
      model: 'large-1',
      messages: [{ role: 'user', content: 'hello' }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 64,
      temperature: 0.5,
      response_format: { type: 'json_object' },
    })
  })

  test('without our key the offer counts as one that refuses us', async () => {
    const offer = offerAt(provider.baseUrl)
    const { end } = await attempt({
      offer: { ...offer, provider: { ...offer.provider, apiKeyEnv: 'NOT_SET' } },
    })
    expect(end.result).toMatchObject(failed('refused'))
    expect(provider.requests).toHaveLength(0)
  })
})

describe('answers', () => {
  test('a stream is relayed as it arrives, with its usage', async () => {
    provider.play(streams(wholeStream('Hel', 'lo')))
    const { end, pieces } = await attempt()
    expect(end).toMatchObject({ result: FINISHED, httpStatus: 200, malformedEvents: 0 })
    expect(pieces).toEqual(['Hel', 'lo'])
    expect(end.firstTokenAt).toBeGreaterThan(0)
  })

  test('a whole JSON completion is taken although a stream was asked for', async () => {
    provider.play((response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(
        JSON.stringify({
          choices: [{ index: 0, message: { role: 'assistant', content: 'whole' }, finish_reason: 'stop' }],
          usage: { prompt_tokens: 7, completion_tokens: 11 },
        }),
      )
    })
    const { end, text } = await attempt()
    expect(end.result).toEqual(FINISHED)
    expect(text).toBe('whole')
  })

  test('tool calls come through', async () => {
    const delta = { index: 0, id: 'call_1', type: 'function', function: { name: 'f', arguments: '{}' } }
    provider.play(
      streams(
        event({ choices: [{ index: 0, delta: { tool_calls: [delta] } }] }) + finishEvent('tool_calls') + DONE,
      ),
    )
    const { end, toolCalls } = await attempt()
    expect(end.result).toMatchObject({ kind: 'finished', reason: 'tool_calls', usage: null })
    expect(toolCalls).toEqual([delta])
  })

  test('bytes that come one by one give the same text', async () => {
    provider.play(async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.socket?.setNoDelay(true)
      for (const byte of Buffer.from(wholeStream('é😀', '漢字'))) {
        await new Promise((resolve) => response.write(Buffer.from([byte]), resolve))
      }
      response.end()
    })
    const { end, text } = await attempt()
    expect(end.result).toEqual(FINISHED)
    expect(text).toBe('é😀漢字')
  })

  test.each([
    ['gzip', gzipSync],
    ['br', brotliCompressSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
  ])('%s is undone', async (encoding, compress) => {
    provider.play((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'content-encoding': encoding })
      response.end(compress(Buffer.from(wholeStream('squeezed'))))
    })
    const { end, text } = await attempt()
    expect(end.result).toEqual(FINISHED)
    expect(text).toBe('squeezed')
  })

  test('a malformed event is skipped and counted', async () => {
    provider.play(
      streams(`${textEvent('a')}data: {"choices":[{"del\n\n${textEvent('b')}${finishEvent()}${DONE}`),
    )
    const { end, text } = await attempt()
    expect(end).toMatchObject({ result: { kind: 'finished' }, malformedEvents: 1 })
    expect(text).toBe('ab')
  })

  test('a finish reason and usage finish the answer at once, while the connection stays open', async () => {
    provider.play(streamsOpenEnded(textEvent('a') + finishEvent() + usageEvent(7, 11)))
    const { end } = await attempt()
    expect(end.result).toEqual(FINISHED)
  })

  describe('with a finish reason in every chunk', () => {
    const finishing = (content: string, reason = 'stop') =>
      event({ choices: [{ index: 0, delta: { content }, finish_reason: reason }] })
    const pieces = [
      ['without usage', finishing('one ') + finishing('two')],
      ['with usage so far', finishing('one ') + usageEvent(7, 1) + finishing('two') + usageEvent(7, 2)],
    ] as const

    test.each(pieces)('is read to its end, %s', async (_usage, body) => {
      provider.play(streams(body + finishing(' three', 'length') + DONE))
      const { end, text } = await attempt()
      expect(end.result).toMatchObject({ kind: 'finished', reason: 'length' })
      expect(text).toBe('one two three')
    })

    test.each(pieces)('is not whole when the connection breaks, %s', async (_usage, body) => {
      provider.play(streamsAndBreaks(body))
      expect((await attempt()).end.result).toMatchObject(failed('broken-stream'))
    })

    test('is not whole when its provider falls silent', async () => {
      provider.play(streamsOpenEnded(finishing('one ') + finishing('two')))
      const { end } = await attempt({ limits: { ...PATIENT, idleMs: 400 } })
      expect(end.result).toMatchObject(failed('stalled'))
    })
  })

  test('a connection that breaks after the finish reason harms nothing', async () => {
    provider.play(streamsAndBreaks(textEvent('a') + finishEvent()))
    const { end } = await attempt()
    expect(end.result).toEqual({ kind: 'finished', reason: 'stop', usage: null })
  })

  describe('the end of a stream', () => {
    const call = event({
      choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 'call_1', function: { name: 'f' } }] } }],
    })
    const usage = { promptTokens: 7, completionTokens: 11 }

    test.each([
      ['[DONE] alone is `stop`', textEvent('a') + DONE, { reason: 'stop', usage: null }],
      ['[DONE] alone after a call is `tool_calls`', call + DONE, { reason: 'tool_calls', usage: null }],
      [
        '[DONE] alone after usage is `stop`',
        textEvent('a') + usageEvent(7, 11) + DONE,
        { reason: 'stop', usage },
      ],
      ['`stop` after a call is `tool_calls`', call + finishEvent() + DONE, { reason: 'tool_calls' }],
      ['`length` after a call is `length`', call + finishEvent('length') + DONE, { reason: 'length' }],
      [
        'an unknown reason with [DONE] is `stop`, and told',
        textEvent('a') + finishEvent('turn_limit') + DONE,
        { reason: 'stop', unknownFinish: 'turn_limit' },
      ],
      [
        'an unknown reason with usage and a proper end is `stop`, and told',
        textEvent('a') + finishEvent('turn_limit') + usageEvent(7, 11),
        { reason: 'stop', unknownFinish: 'turn_limit', usage },
      ],
      [
        'empty reasons are none',
        textEvent('a') + finishEvent('') + finishEvent('length'),
        { reason: 'length' },
      ],
    ])('%s', async (_what, body, result) => {
      provider.play(streams(body))
      expect((await attempt()).end.result).toMatchObject({ kind: 'finished', ...result })
    })

    test.each([
      ['an unknown reason without more', streams(textEvent('a') + finishEvent('turn_limit'))],
      [
        'an unknown reason before a break',
        streamsAndBreaks(textEvent('a') + finishEvent('turn_limit') + usageEvent(7, 11)),
      ],
      [
        'a reason of a provider that gave up',
        streams(textEvent('a') + finishEvent('network_error') + usageEvent(7, 11) + DONE),
      ],
    ])('%s is a failure', async (_what, script) => {
      provider.play(script)
      expect((await attempt()).end.result).toMatchObject({ kind: 'failed' })
    })
  })

  test('usage that comes after the finish reason replaces the one with it', async () => {
    provider.play(
      streams(
        textEvent('a') +
          event({
            choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
            usage: { prompt_tokens: 7, completion_tokens: 1 },
          }) +
          usageEvent(7, 11) +
          DONE,
      ),
    )
    expect((await attempt()).end.result).toEqual(FINISHED)
  })

  test('two events without the empty line between them are both read', async () => {
    provider.play(streams(textEvent('a') + finishEvent().replace('\n\n', '\n') + usageEvent(7, 11) + DONE))
    expect((await attempt()).end).toMatchObject({ result: FINISHED, malformedEvents: 0 })
  })

  test('one event may be longer than a mebibyte', async () => {
    provider.play(streams(textEvent('x'.repeat(1_300_000)) + finishEvent() + usageEvent(7, 11) + DONE))
    const { end, text } = await attempt()
    expect(end.result).toEqual(FINISHED)
    expect(text).toHaveLength(1_300_000)
  })

  test('usage counted along in every event does not end the answer early', async () => {
    const usage = (completion: number) => ({ prompt_tokens: 7, completion_tokens: completion })
    provider.play(
      streams(
        event({ choices: [{ index: 0, delta: { content: 'a' } }], usage: usage(1) }) +
          finishEvent() +
          event({ choices: [], usage: usage(11) }) +
          DONE,
      ),
    )
    const { end } = await attempt()
    expect(end.result).toEqual(FINISHED)
  })

  test('a kept connection that its provider closes before any byte is replaced, and is no failure', async () => {
    const first = { choices: [{ index: 0, message: { content: 'first' }, finish_reason: 'stop' }] }
    provider.play(
      (response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(first)),
      (response) => void response.socket?.destroy(),
      streams(wholeStream('second')),
    )
    expect((await attempt()).text).toBe('first')
    // The connection is idle on a later turn.
    await new Promise(setImmediate)
    const connections = provider.connections()
    const { end, text } = await attempt()
    expect(end.result).toEqual(FINISHED)
    expect(text).toBe('second')
    expect(provider.requests).toHaveLength(3)
    expect(provider.connections()).toBe(connections + 1)
  })

  test('a new connection that its provider closes before any byte is a failure', async () => {
    provider.play((response) => void response.socket?.destroy())
    expect((await attempt()).end.result).toMatchObject(failed('reset'))
    expect(provider.requests).toHaveLength(1)
  })

  test('connections are used again', async () => {
    provider.play(streams(wholeStream('ok')))
    for (let call = 0; call < 20; call++) await attempt()
    // A call may start before the end of the one before it has been read.
    expect(provider.connections()).toBeLessThanOrEqual(2)
  })
})

describe('failures', () => {
  test('a stream that ends or breaks without a finish reason is broken', async () => {
    provider.play(streams(textEvent('half')), streamsAndBreaks(textEvent('half')))
    for (let call = 0; call < 2; call++) {
      expect((await attempt()).end.result).toMatchObject(failed('broken-stream', { httpStatus: 200 }))
    }
  })

  test('an empty body is broken', async () => {
    provider.play(streams(''))
    expect((await attempt()).end.result).toMatchObject(failed('broken-stream'))
  })

  test('an error body in a 200, whole or in an event, is a failure', async () => {
    const error = { error: { message: 'overloaded', code: 503 } }
    provider.play(
      (response) =>
        void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(error)),
      streams(event(error)),
      streams(textEvent('half') + event(error)),
    )
    for (let call = 0; call < 3; call++) {
      expect((await attempt()).end.result).toMatchObject(failed('server-error', { httpStatus: 200 }))
    }
  })

  test('HTML and other JSON instead of an answer are unreadable', async () => {
    provider.play(
      (response) =>
        void response.writeHead(200, { 'content-type': 'text/html' }).end('\n<!doctype html><h1>Hi</h1>'),
      (response) => void response.writeHead(200, { 'content-type': 'application/json' }).end('{"hello":1}'),
    )
    for (let call = 0; call < 2; call++) {
      expect((await attempt()).end.result).toMatchObject(failed('unreadable'))
    }
  })

  test('bytes that do not decompress, and unknown encodings, are unreadable', async () => {
    const encoded = (encoding: string) => streamsWith({ 'content-encoding': encoding }, 'not compressed')
    provider.play(encoded('gzip'), encoded('zstd'))
    for (let call = 0; call < 2; call++) {
      expect((await attempt()).end.result).toMatchObject(failed('unreadable'))
    }
  })

  test('an event of too many values and a body beyond 16 MB are cut off', async () => {
    const comment = `: ${'x'.repeat(64 * 1024)}\n`
    const values = `{"choices":[${'0,'.repeat(150_000)}0]}`
    provider.play(streams(`data: ${values}\n\n`), streams(comment.repeat(300)))
    for (let call = 0; call < 2; call++) {
      expect((await attempt()).end.result).toMatchObject(failed('unreadable'))
    }
  })

  test('headers of a refusal are kept, however slow its body is', async () => {
    provider.play(
      refuses(429, { message: 'slow down' }, { 'retry-after': '2' }),
      refuses(429),
      refuses(401, { message: 'bad key' }),
      refuses(400, { code: 'context_length_exceeded' }),
    )
    expect((await attempt()).end.result).toMatchObject(
      failed('rate-limited', { httpStatus: 429, retryAfterMs: 2_000 }),
    )
    expect((await attempt()).end.result).toMatchObject(failed('rate-limited', { retryAfterMs: null }))
    expect((await attempt()).end.result).toMatchObject(failed('refused', { httpStatus: 401 }))
    expect((await attempt()).end.result).toMatchObject(failed('context-length', { httpStatus: 400 }))
  })

  test('a refusal whose connection breaks is classified by its status', async () => {
    provider.play((response) => {
      response.writeHead(503, { 'content-length': '1000' })
      response.write('{"error":', () => response.socket?.destroy())
    })
    expect((await attempt()).end.result).toMatchObject(failed('server-error', { httpStatus: 503 }))
  })

  test('a reset connection and a closed port are different failures', async () => {
    provider.play((response) => void response.socket?.destroy())
    expect((await attempt()).end.result).toMatchObject(failed('reset', { httpStatus: null }))
    const offer = offerAt('http://127.0.0.1:1/v1')
    expect((await attempt({ offer })).end.result).toMatchObject(failed('connect'))
  })
})

describe('limits of time', () => {
  stopClock()

  const { firstTokenMs, idleMs, totalMs } = PATIENT
  /** Plays a script, and lets time pass once the client has read what it wrote. */
  const thenPasses = (ms: number, script: Script): Script => {
    return async (response, request) => {
      await script(response, request)
      await pass(ms)
    }
  }
  /** Writes something every ten seconds, for so many ms and more. */
  const everyTenSeconds = (ms: number, text: string): Script => {
    return async (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(textEvent('a'))
      for (let passedMs = 0; passedMs <= ms; passedMs += 10_000) {
        await pass(10_000)
        response.write(text)
      }
    }
  }

  test('a provider that never answers, or never says a token, is silent', async () => {
    const roleOnly = event({ choices: [{ index: 0, delta: { role: 'assistant', content: '' } }] })
    const scripts = [
      hangs,
      (response) => response.flushHeaders(),
      streamsOpenEnded(roleOnly),
    ] satisfies Script[]
    for (const script of scripts) {
      provider.play(thenPasses(firstTokenMs + 2, script))
      const aborted = provider.aborted()
      expect((await attempt()).end.result).toMatchObject(failed('silent'))
      await aborted
    }
  })

  test('reasoning counts as a token', async () => {
    const reasoning = event({ choices: [{ index: 0, delta: { reasoning_content: 'hm' } }] })
    provider.play(async (response, request) => {
      await thenPasses(firstTokenMs + 2, streamsOpenEnded(reasoning))(response, request)
      response.end(wholeStream('ok'))
    })
    const { end } = await attempt({ limits: { ...PATIENT, idleMs: 2 * firstTokenMs } })
    expect(end.result).toEqual(FINISHED)
  })

  test('silence between tokens is a stall, also when comments keep coming', async () => {
    provider.play(everyTenSeconds(idleMs, ': keep-alive\n\n'))
    const { end, text } = await attempt()
    expect(end.result).toMatchObject(failed('stalled'))
    expect(text).toBe('a')
  })

  test('the whole call has a limit of its own', async () => {
    provider.play(everyTenSeconds(totalMs, textEvent('a')))
    const { end } = await attempt()
    expect(end.result).toMatchObject(failed('call-timeout'))
  })

  test('a finish reason without usage and [DONE] finishes the answer shortly after', async () => {
    provider.play(thenPasses(2_500, streamsOpenEnded(textEvent('a') + finishEvent())))
    const { end } = await attempt()
    expect(end.result).toEqual({ kind: 'finished', reason: 'stop', usage: null })
  })
})

describe('a process that stood still', () => {
  stopClock()

  const STOOD_STILL_MS = 36_000

  /** The machine stands still while the answer is awaited: timers fire before anything is read. */
  const standsStill = (): void => {
    const wokenAt = performance.now() + STOOD_STILL_MS
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => wokenAt)
    vi.advanceTimersByTime(PATIENT.firstTokenMs + 2)
    clock.mockRestore()
  }

  test('reads what has come before it holds a limit against the provider', async () => {
    provider.play((response) => {
      standsStill()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(wholeStream('ok'))
    })
    const { end, text } = await attempt()
    expect(end.result).toEqual(FINISHED)
    expect(text).toBe('ok')
  })

  test('gives up a second later, and does not blame the provider', async () => {
    provider.play(async () => {
      standsStill()
      await pass(1_000)
    })
    const { result } = (await attempt()).end
    expect(result).toMatchObject(failed('silent', { isLate: true }))
    expect(result.kind === 'failed' && healthEffect(result.failure)).toEqual({ kind: 'none' })
  })

  test('blames one that is silent again afterwards', async () => {
    provider.play(async (response) => {
      standsStill()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(textEvent('a'))
      await pass(1_000)
      await pass(PATIENT.idleMs + 2)
    })
    const { result } = (await attempt({ limits: { ...PATIENT, totalMs: 600_000 } })).end
    expect(result).toMatchObject(failed('stalled'))
    expect(result.kind === 'failed' && healthEffect(result.failure)).toEqual({ kind: 'failure' })
  })

  test('reads once more even where its timer was in time', async () => {
    provider.play(async (response) => {
      await pass(0)
      await delay(1)
      // In the phase of timers, whose next one is due: the answer is there, and not read yet.
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(wholeStream('ok'))
      vi.advanceTimersByTime(PATIENT.firstTokenMs + 2)
    })
    expect((await attempt()).end.result).toEqual(FINISHED)
  })
})

describe('cancelling', () => {
  test('aborts the upstream at once, before and after the first token', async () => {
    for (const script of [hangs, streamsOpenEnded(textEvent('a'))]) {
      const controller = new AbortController()
      const aborted = provider.aborted()
      provider.play((response, request) => {
        void script(response, request)
        setImmediate(() => controller.abort())
      })
      const { end } = await attempt({ signal: controller.signal })
      expect(end.result).toEqual({ kind: 'cancelled' })
      await aborted
    }
  })

  test('a call that is cancelled already is not sent', async () => {
    const { end } = await attempt({ signal: AbortSignal.abort() })
    expect(end.result).toEqual({ kind: 'cancelled' })
    expect(provider.requests).toHaveLength(0)
  })

  test('a listener that throws fails that attempt alone, and stops the provider', async () => {
    const aborted = provider.aborted()
    provider.play(streamsOpenEnded(textEvent('a')))
    const broken = attempt({}, () => {
      throw new Error('sink is broken')
    })
    await expect(broken).rejects.toThrow('sink is broken')
    await aborted
  })
})

const streamsWith = (headers: Record<string, string>, body: string): Script => {
  return (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', ...headers })
    response.end(body)
  }
}
