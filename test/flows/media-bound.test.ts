import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { pngUrl } from '../helpers/content-parts.ts'
import { postAs } from '../helpers/requests.ts'
import {
  DONE,
  finishEvent,
  type ScriptedProvider,
  startScriptedProvider,
  streams,
  textEvent,
  usageEvent,
} from '../helpers/scripted-provider.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

/** What providers really make of media is charged and shown as they report it, and was held before. */

const COMPLETION_TOKENS = 2

let provider: ScriptedProvider
let stack: TestStack
let folder: string

beforeAll(async () => {
  provider = await startScriptedProvider()
  folder = await mkdtemp(join(tmpdir(), 'shuntyard-media-'))
  const catalogFile = join(folder, 'catalog.json')
  const model = (id: string, vendor: string, context_length: number, more: object = {}) => ({
    id,
    vendor,
    context_length,
    max_output_tokens: 1_000,
    input_modalities: ['text', 'image', 'file', 'audio', 'video'],
    list_price: { prompt: '2.00', completion: '4.00' },
    rate: { prompt: '1.00', completion: '2.00' },
    offers: [{ provider: 'acme', upstream_model: id, cost: { prompt: '0.50', completion: '0.50' } }],
    ...more,
  })
  const document = {
    replace: true,
    providers: [{ id: 'acme', base_url: provider.baseUrl }],
    models: [
      model('gpt-4o-mini', 'openai', 128_000),
      model('google/gemini-2.5-flash', 'google', 1_048_576),
      model('test/capped', 'test', 1_048_576, { media: { video_tokens: 300_000, document_tokens: 50_000 } }),
      model('test/images-only', 'test', 128_000, { input_modalities: ['text', 'image'] }),
    ],
  }
  await writeFile(catalogFile, JSON.stringify(document))
  stack = await startStack({ models: {}, environment: { CATALOG_FILE: catalogFile } })
})
afterAll(async () => {
  await stack?.close()
  await provider?.close()
  if (folder) await rm(folder, { recursive: true })
})

interface Answer {
  status: number
  body: {
    id: string
    usage: { prompt_tokens: number }
    error?: { code: string; param: string | null; metadata?: { required_usd: string } }
  }
}

async function send(key: string, model: string, ...content: unknown[]): Promise<Answer> {
  const response = await postAs(key, `${stack.url}/v1/chat/completions`, {
    model,
    max_tokens: 10,
    messages: [{ role: 'user', content }],
  })
  return { status: response.status, body: (await response.json()) as Answer['body'] }
}

const image = (url: string, detail = 'high') => ({ type: 'image_url', image_url: { url, detail } })
const file = (url: string) => ({ type: 'file', file: { filename: 'a.pdf', file_data: url } })
const video = (url: string) => ({ type: 'video_url', video_url: { url } })
const dataUrl = (mediaType: string, text: string) =>
  `data:${mediaType};base64,${Buffer.from(text).toString('base64')}`
const question = { type: 'text', text: 'What is this?' }

test.each<[string, string, number, unknown]>([
  ['a large image at high detail', 'gpt-4o-mini', 25_513, image(pngUrl(1_024, 1_024))],
  ['a thumbnail', 'gpt-4o-mini', 8_512, image(pngUrl(128, 64))],
  ['an image at an address', 'gpt-4o-mini', 48_169, image('https://images.example/cat.png')],
  [
    'a document of 500 pages',
    'google/gemini-2.5-flash',
    129_000,
    file(dataUrl('application/pdf', '%PDF-1.7')),
  ],
  [
    'a document in an image',
    'google/gemini-2.5-flash',
    129_000,
    image(dataUrl('application/pdf', '%PDF-1.7')),
  ],
  ['an hour of video', 'google/gemini-2.5-flash', 950_000, video(dataUrl('video/mp4', 'moov'))],
  ['an hour of video in an image', 'google/gemini-2.5-flash', 950_000, image(dataUrl('video/mp4', 'moov'))],
  ['text in an image', 'gpt-4o-mini', 4_020, image(dataUrl('text/plain', 'word '.repeat(4_000)))],
  ['a video by address, with a stated figure', 'test/capped', 290_000, video('https://videos.example/v.mp4')],
  ['a document by address, with a stated figure', 'test/capped', 49_000, file('https://files.example/d.pdf')],
])('%s is held, charged and shown as %s reports it: %i tokens', async (_, model, tokens, part) => {
  provider.play(streams(textEvent('A cat.') + finishEvent() + usageEvent(tokens, COMPLETION_TOKENS) + DONE))
  const { key, accountId } = await stack.account('2.00')
  const { status, body } = await send(key, model, question, part)
  expect(body.error).toBeUndefined()
  expect(status).toBe(200)
  expect(body.usage.prompt_tokens).toBe(tokens)
  await stack.settled(accountId)
  const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: body.id } })
  expect(record).toMatchObject({
    promptTokens: tokens,
    usageClamped: false,
    usageSource: 'upstream',
    chargePico: BigInt(tokens) * 1_000_000n + BigInt(COMPLETION_TOKENS) * 2_000_000n,
  })
  expect(record.holdPico).toBeGreaterThanOrEqual(record.chargePico)
})

test.each<[string, string, unknown]>([
  ['an hour of video', 'google/gemini-2.5-flash', video(dataUrl('video/mp4', 'moov'))],
  ['a document', 'google/gemini-2.5-flash', file(dataUrl('application/pdf', '%PDF-1.7'))],
  ['a large image', 'gpt-4o-mini', image(pngUrl(1_024, 1_024))],
])('a cent does not buy %s at %s', async (_, model, part) => {
  const requests = provider.requests.length
  const { key } = await stack.account('0.01')
  const { status, body } = await send(key, model, question, part)
  expect(status).toBe(402)
  expect(body.error?.code).toBe('insufficient_balance')
  expect(Number(body.error?.metadata?.required_usd)).toBeGreaterThan(0.025)
  expect(provider.requests.length).toBe(requests)
})

test.each<[string, string, unknown, number, string, string | null]>([
  [
    'a video by address',
    'google/gemini-2.5-flash',
    video('https://v.example/v'),
    422,
    'unsupported_shape',
    'messages',
  ],
  [
    'a document by address',
    'google/gemini-2.5-flash',
    file('https://f.example/f.pdf'),
    422,
    'unsupported_shape',
    'messages',
  ],
  [
    'a document by address in an image',
    'google/gemini-2.5-flash',
    image('https://f.example/f.pdf'),
    422,
    'unsupported_shape',
    'messages',
  ],
  [
    'a document in an image, for a model of images',
    'test/images-only',
    image(dataUrl('application/pdf', '%PDF')),
    422,
    'unsupported_shape',
    'messages',
  ],
  [
    'a part of unknown type',
    'gpt-4o-mini',
    { type: 'input_text', text: 'x'.repeat(200_000) },
    400,
    'invalid_request',
    'messages[0].content[1].type',
  ],
  [
    'a part of unknown type',
    'gpt-4o-mini',
    { type: 'constructor' },
    400,
    'invalid_request',
    'messages[0].content[1].type',
  ],
])('%s is refused before anything is held', async (_, model, part, status, code, param) => {
  const { key } = await stack.account('2.00')
  const answer = await send(key, model, question, part)
  expect(answer.status).toBe(status)
  expect(answer.body.error).toMatchObject({ code, param })
})

test('what stands beside a part of its kind is not sent on', async () => {
  provider.play(streams(textEvent('A cat.') + finishEvent() + usageEvent(20, COMPLETION_TOKENS) + DONE))
  const { key } = await stack.account('2.00')
  const part = { ...image('https://images.example/cat.png', 'low'), text: 'x'.repeat(100_000) }
  expect((await send(key, 'gpt-4o-mini', part)).status).toBe(200)
  expect(provider.requests.at(-1)!.body.messages).toEqual([
    {
      role: 'user',
      content: [{ type: 'image_url', image_url: { url: 'https://images.example/cat.png', detail: 'low' } }],
    },
  ])
})
