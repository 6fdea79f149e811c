import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readListing } from '../../../src/catalog/read-listing.ts'
import { WIRES } from '../../../src/core/catalog.ts'
import {
  type SimulatedProviders,
  startSimulatedProviders,
} from '../../../src/dev/simulated-providers/start-simulated-providers.ts'
import { offerAt } from '../../helpers/scripted-provider.ts'
import { WIRE_PATHS } from '../../helpers/wires.ts'

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

test.each(WIRES)('%s lists the same models in its own form', async (wire) => {
  const { provider } = offerAt(`${providers.url}/acme/${WIRE_PATHS[wire]}`)
  const listed = await readListing({ ...provider, wire }, {})
  expect(listed).toContain('sim-words-60.latency-80.rate-120')
  const chat = offerAt(`${providers.url}/acme/v1`).provider
  expect(listed).toEqual(await readListing(chat, {}))
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
