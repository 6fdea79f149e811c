import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readListing } from '../../../src/providers/listings/read-listing.ts'
import {
  type SimulatedProviders,
  startSimulatedProviders,
} from '../../../tools/simulated-providers/start-simulated-providers.ts'
import { offerAt } from '../../helpers/scripted-provider.ts'
import { PLAIN_WIRES, WIRE_PATHS } from '../../helpers/wires.ts'

let providers: SimulatedProviders

beforeAll(async () => {
  providers = await startSimulatedProviders()
})
afterAll(() => providers.close())

async function post(path: string, body: unknown, headers: Record<string, string> = {}) {
  const response = await fetch(providers.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return { status: response.status, text: await response.text() }
}

test.each(PLAIN_WIRES)('%s lists the same models in its own form', async (wire) => {
  const { provider } = offerAt(`${providers.url}/acme/${WIRE_PATHS[wire]}`)
  const listed = await readListing({ ...provider, wire }, undefined)
  expect(listed).toContain('sim-words-60.latency-80.rate-120')
  const chat = offerAt(`${providers.url}/acme/v1`).provider
  expect(listed).toEqual(await readListing(chat, undefined))
})

describe('the messages wire refuses what the real one refuses', () => {
  const version = { 'anthropic-version': '2023-06-01' }
  const turn = (role: string, text: string) => ({ role, content: [{ type: 'text', text }] })
  const sane = { model: 'words-3', max_tokens: 9, messages: [turn('user', 'Hi')] }

  test('and takes the rest', async () => {
    const { status, text } = await post('/acme/v1/messages', sane, version)
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({ type: 'message', stop_reason: 'end_turn' })
  })

  test.each<[string, object, Record<string, string>]>([
    ['no version', {}, {}],
    ['no limit', { max_tokens: undefined }, version],
    ['an unknown field', { stream_options: {} }, version],
    ['too high a temperature', { temperature: 1.2 }, version],
    ['no turn', { messages: [] }, version],
    ['an assistant who begins', { messages: [turn('assistant', 'Hi')] }, version],
    ['a system turn', { messages: [turn('user', 'Hi'), turn('system', 'Hi')] }, version],
    ['an empty text', { messages: [turn('user', ' ')] }, version],
    ['two turns of one side', { messages: [turn('user', 'Hi'), turn('user', 'Ho')] }, version],
    [
      'a result without its use of a tool',
      { messages: [{ role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: 'b' }] }] },
      version,
    ],
    [
      'white space before the continuation',
      { messages: [turn('user', 'Hi'), turn('assistant', 'a ')] },
      version,
    ],
  ])('%s', async (_, changes, headers) => {
    const { status, text } = await post('/acme/v1/messages', { ...sane, ...changes }, headers)
    expect(status).toBe(400)
    expect(JSON.parse(text)).toMatchObject({ type: 'error', error: { type: 'invalid_request_error' } })
  })
})

describe('the chat-completions wire refuses what strict providers refuse', () => {
  const user = { role: 'user', content: 'Hi' }
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  const caller = { role: 'assistant', content: null, tool_calls: [call] }
  const result = { role: 'tool', tool_call_id: 'a', content: 'b' }
  const sane = { model: 'words-3', messages: [user, caller, result] }

  test('and takes the rest', async () => {
    expect((await post('/acme/v1/chat/completions', sane)).status).toBe(200)
    const alike = { ...sane, messages: [user, user, { role: 'assistant', content: 'a' }] }
    expect((await post('/acme/v1/chat/completions', alike)).status).toBe(200)
  })

  test.each<[string, object]>([
    ['a result without its call', { messages: [user, result] }],
    ['a result of a call that was dropped', { messages: [user, { role: 'assistant', content: '' }, result] }],
    ['a result twice', { messages: [user, caller, result, result] }],
    ['a call without its result', { messages: [user, caller, user] }],
    ['an empty turn', { messages: [user, { role: 'assistant', content: '' }] }],
    ['no message', { messages: [] }],
    ['an unknown role', { messages: [{ role: 'function', content: 'a' }] }],
    ['an unknown field of a message', { messages: [{ ...user, tool_name: 'a' }] }],
    ['an unknown field', { provider: {} }],
    ['both limits', { max_tokens: 9, max_completion_tokens: 9 }],
    ['a limit below one', { max_tokens: 0 }],
    ['options of a stream without one', { stream_options: { include_usage: true } }],
    [
      'a trailing assistant message where it takes none',
      {
        model: 'no-prefill',
        messages: [user, { role: 'assistant', content: 'a' }],
      },
    ],
    ['two turns of one side where they have to alternate', { model: 'turns', messages: [user, user] }],
    [
      'a late system message where turns have to alternate',
      {
        model: 'turns',
        messages: [user, { role: 'system', content: 'a' }],
      },
    ],
  ])('%s', async (_, changes) => {
    expect((await post('/acme/v1/chat/completions', { ...sane, ...changes })).status).toBe(400)
  })
})

describe('the generate-content wire refuses what the real one refuses', () => {
  const path = '/acme/v1beta/models/words-3:generateContent'
  const sane = { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] }

  test('and takes the rest', async () => {
    const { status, text } = await post(path, sane)
    expect(status).toBe(200)
    expect(JSON.parse(text)).toMatchObject({ candidates: [{ finishReason: 'STOP' }] })
  })

  test.each<[string, object]>([
    ['no content', { contents: [] }],
    ['a role of another wire', { contents: [{ role: 'assistant', parts: [{ text: 'Hi' }] }] }],
    ['content without parts', { contents: [{ role: 'user', parts: [] }] }],
    [
      'a result without its call of a function',
      { contents: [{ role: 'user', parts: [{ functionResponse: { name: 'f', response: {} } }] }] },
    ],
    ['an unknown field', { stream: true }],
    [
      'a schema keyword',
      {
        tools: [
          {
            functionDeclarations: [
              { name: 'f', parameters: { type: 'object', additionalProperties: false } },
            ],
          },
        ],
      },
    ],
  ])('%s', async (_, changes) => {
    const { status, text } = await post(path, { ...sane, ...changes })
    expect(status).toBe(400)
    expect(JSON.parse(text)).toMatchObject({ error: { code: 400, status: 'INVALID_ARGUMENT' } })
  })
})

test('another method or path is refused', async () => {
  const status = async (path: string, method: string) =>
    (await fetch(providers.url + path, { method })).status
  expect(await status('/acme/v1/messages', 'GET')).toBe(405)
  expect(await status('/acme/v1beta/models', 'POST')).toBe(405)
  expect(await status('/acme/v1beta/models/words-3:countTokens', 'POST')).toBe(404)
  expect(await status('/acme/v2/messages', 'POST')).toBe(404)
})
