import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import OpenAI, { type APIError, toFile } from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { parseUsd } from '../../src/core/kernel/money.ts'
import { imageSize } from '../../src/core/media/image-size.ts'
import { encodePng } from '../../tools/simulated-providers/tasks/png.ts'
import { encodeWav, secondsOf, toneSamples } from '../../tools/simulated-providers/tasks/speech-audio.ts'
import { eventually } from '../helpers/eventually.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { postAs } from '../helpers/requests.ts'
import { testStack } from '../helpers/resources.ts'

/** Discounted as usual. */
const rate = undefined
const IMAGE = {
  rate,
  kind: 'image',
  unit: 'image',
  image_units: { '/64x64': 1, '/128x64': 2 },
  list_price: { prompt: '0', completion: '0', units: '10000' },
}
const EDIT = {
  ...IMAGE,
  input_modalities: ['text', 'image'],
  unit: 'image_token',
  image_units: { 'low/64x64': 2_000, 'high/64x64': 20_000 },
  media: { image_tokens: 1_200 },
  list_price: { prompt: '5', prompt_image: '10', completion: '0', units: '40' },
}
const SPEECH = {
  rate,
  kind: 'speech',
  unit: 'character',
  list_price: { prompt: '0', completion: '0', units: '15' },
}
const TRANSCRIPTION = {
  rate,
  kind: 'transcription',
  unit: 'second',
  supported_parameters: ['translations', 'timestamp_granularities'],
  list_price: { prompt: '0', completion: '0', units: '100' },
}
const both = (behaviour: string) =>
  ['alpha', 'beta'].map((at, priority) => ({ at, model: behaviour, cost: '0', priority }))

const SURFACES = [
  'images.generations',
  'images.edits',
  'audio.speech',
  'audio.transcriptions',
  'audio.translations',
]
const png = encodePng(64, 64, 1)
const wav = encodeWav(toneSamples(2.6, 1))

let accountId: string
let client: OpenAI
let key: string

const stack = testStack({
  models: {
    'test/image': { ...IMAGE, offers: [{ at: 'alpha', model: 'tag-image', cost: '0' }] },
    'test/image-held': { ...IMAGE, offers: both('held.tag-full') },
    'test/image-failing': { ...IMAGE, offers: both('fail-on-alpha') },
    'test/image-cut': { ...IMAGE, offers: both('on-alpha-cut-after-1') },
    'test/edit': { ...EDIT, offers: [{ at: 'alpha', model: 'image-tokens-3.tag-edit', cost: '0' }] },
    'test/speech': { ...SPEECH, offers: [{ at: 'alpha', model: 'tag-speech', cost: '0' }] },
    'test/speech-garbage': { ...SPEECH, offers: both('on-alpha-html-200') },
    'test/speech-held': { ...SPEECH, offers: [{ at: 'alpha', model: 'held', cost: '0' }] },
    'test/hear': { ...TRANSCRIPTION, offers: [{ at: 'alpha', model: 'tag-hear', cost: '0' }] },
    'test/hear-failing': { ...TRANSCRIPTION, offers: both('fail-on-alpha') },
  },
  environment: { BREAKER_FAILURES: '1000' },
})
beforeAll(async () => {
  const account = await stack.account('20.00')
  accountId = account.accountId
  key = account.key
  for (const surface of SURFACES)
    await stack.command('admin', 'surface', 'open', surface, '--account', accountId)
  client = new OpenAI({ apiKey: key, baseURL: `${stack.url}/v1`, maxRetries: 0 })
})

/** The record of the account's latest call, once it is settled. */
async function latestCall() {
  await stack.settled(accountId)
  const [record] = await stack.postgres.callRecord.findMany({
    where: { accountId },
    orderBy: { id: 'desc' },
    take: 1,
  })
  return record!
}

const storedFiles = () => readdir(join(stack.environment.DATA_DIR!, 'bodies')).catch(() => [])
/** Removes the files that are written to their end. */
function removeStoredFiles(): void {
  const folder = join(stack.environment.DATA_DIR!, 'bodies')
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  for (const name of names)
    if (name.includes('/') && !name.endsWith('.part')) rmSync(join(folder, name), { force: true })
}
const nothingIsStored = () => eventually(async () => expect(await storedFiles()).toEqual([]))

const failureOf = (asked: PromiseLike<unknown>): Promise<APIError> =>
  Promise.resolve(asked).then(
    () => Promise.reject(new Error('it did not fail')),
    (error: APIError) => error,
  )

/** Calls a JSON surface without a client library. */
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(`${stack.url}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })

describe('images', () => {
  test('come as base64 of the size that was asked for, and each is charged', async () => {
    const { data, usage } = await client.images.generate({
      model: 'test/image',
      prompt: 'a fox',
      n: 2,
      size: '128x64' as never,
    })
    expect(data!.map(({ b64_json }) => imageSize(b64_json!))).toEqual([
      { width: 128, height: 64 },
      { width: 128, height: 64 },
    ])
    expect(usage).toBeUndefined()
    const record = await latestCall()
    expect(record).toMatchObject({ status: 'completed', units: 4, unit: 'image', promptTokens: 0 })
    expect(record.chargePico).toBe(4n * record.unitsRatePico!)
    await nothingIsStored()
  })

  test('that cannot be stored are 503, free, asked for once, and counted as a cost of ours', async () => {
    const folder = join(stack.environment.DATA_DIR!, 'bodies')
    const image = failureOf(client.images.generate({ model: 'test/image-held', prompt: 'a fox' }))
    await stack.providers.log.arrived(({ model }) => model === 'held.tag-full')
    // Nothing can be written where the folder was.
    rmSync(folder, { recursive: true, force: true })
    writeFileSync(folder, '')
    stack.providers.release()
    const error = await image
    rmSync(folder)
    expect(error).toMatchObject({ status: 503, code: 'overloaded' })
    expect(error.headers!.get('retry-after')).toBe('5')
    const record = await latestCall()
    expect(record).toMatchObject({ status: 'failed', errorCode: 'overloaded', chargePico: 0n })
    expect(record.attempts).toMatchObject([{ outcome: 'not-stored', httpStatus: 200, spent: { units: 1 } }])
  })

  test('are edited, and their tokens charged at the prices of text, images and output', async () => {
    const image = await toFile(png, 'fox.png')
    const { data, usage } = await client.images.edit({
      model: 'test/edit',
      image: [image, image],
      prompt: 'a hat',
      quality: 'high',
    })
    expect(imageSize(data![0]!.b64_json!)).toEqual({ width: 64, height: 64 })
    const record = await latestCall()
    expect(usage).toMatchObject({
      input_tokens: record.promptTokens,
      output_tokens: record.units,
      input_tokens_details: { image_tokens: record.imageTokens },
    })
    expect(record).toMatchObject({ unit: 'image_token', usageSource: 'upstream' })
    expect(record.imageTokens).toBeGreaterThan(0)
    expect(record.chargePico).toBe(
      BigInt(record.promptTokens - record.imageTokens) * record.promptRatePico! +
        BigInt(record.imageTokens) * record.promptImageRatePico! +
        BigInt(record.units) * record.unitsRatePico!,
    )
    await nothingIsStored()
  })

  test.each([
    ['test/image-failing', 'answers 503'],
    ['test/image-cut', 'breaks off'],
  ])('of %s come from the next provider when the first %s', async (model) => {
    const { data } = await client.images.generate({ model, prompt: 'a fox' })
    expect(imageSize(data![0]!.b64_json!)).toEqual({ width: 64, height: 64 })
    const record = await latestCall()
    expect(record).toMatchObject({ status: 'completed', units: 1 })
    expect(record.attempts).toHaveLength(2)
    await nothingIsStored()
  })

  test('of a size without a price are refused, and hold nothing', async () => {
    const refused = await failureOf(
      client.images.generate({ model: 'test/image', prompt: 'a fox', size: '512x512' }),
    )
    expect(refused).toMatchObject({ status: 422, code: 'unsupported_shape', param: 'size' })
    const noEdits = client.images.edit({
      model: 'test/image',
      image: await toFile(png, 'fox.png'),
      prompt: 'a hat',
    })
    expect(await failureOf(noEdits)).toMatchObject({ status: 422, param: 'image' })
    await nothingIsStored()
  })
})

describe('speech', () => {
  test('comes as the format that was asked for, and its characters are charged', async () => {
    const input = 'Trains need shunting yards.'
    const response = await client.audio.speech.create({
      model: 'test/speech',
      voice: 'alloy',
      input,
      response_format: 'wav',
    })
    expect(response.headers.get('content-type')).toBe('audio/wav')
    const bytes = Buffer.from(await response.arrayBuffer())
    expect(Number(response.headers.get('content-length'))).toBe(bytes.length)
    expect(secondsOf(bytes)).toBeCloseTo(input.length / 15, 1)
    const record = await latestCall()
    expect(record).toMatchObject({ units: input.length, unit: 'character', promptTokens: 0 })
    expect(record.chargePico).toBe(BigInt(input.length) * record.unitsRatePico!)
    await nothingIsStored()
  })

  test('that is a page of HTML is made by the next provider', async () => {
    const asked = { model: 'test/speech-garbage', voice: 'alloy', input: 'Hello' }
    const response = await client.audio.speech.create(asked)
    expect(response.headers.get('content-type')).toBe('audio/mpeg')
    expect((await latestCall()).attempts).toHaveLength(2)
  })

  test('is made to its end and charged when its client leaves after its provider was asked', async () => {
    const leaving = new AbortController()
    const asked = { model: 'test/speech-held', voice: 'alloy', input: 'Hello' }
    const left = failureOf(client.audio.speech.create(asked, { signal: leaving.signal }))
    await stack.providers.log.arrived(({ model }) => model === 'held')
    leaving.abort()
    await left
    // What was said to its worker before another call ended there has arrived.
    await client.audio.speech.create({ ...asked, model: 'test/speech' })
    stack.providers.release()
    await stack.settled(accountId)
    const record = await stack.postgres.callRecord.findFirstOrThrow({
      where: { requestedModel: 'test/speech-held' },
    })
    expect(record).toMatchObject({ status: 'completed', units: 5, unit: 'character' })
    expect(record.chargePico).toBe(5n * record.unitsRatePico!)
    expect(stack.providers.log.aborted).toBe(0)
    await nothingIsStored()
  })

  test('is kept for no repeat, and says so', async () => {
    const body = { model: 'test/speech', voice: 'alloy', input: 'Hello' }
    const refused = await post('/v1/audio/speech', body, { 'idempotency-key': 'again' })
    expect(refused.status).toBe(400)
    expect(await refused.json()).toMatchObject({ error: { param: 'Idempotency-Key' } })
  })
})

describe('recordings', () => {
  const file = () => toFile(wav, 'meeting.wav')

  test.each(['test/hear', 'test/hear-failing'])(
    'are transcribed by %s, and their seconds charged',
    async (model) => {
      const { text } = await client.audio.transcriptions.create({ model, file: await file() })
      expect(text).not.toBe('')
      const record = await latestCall()
      expect(record).toMatchObject({ status: 'completed', units: 3, unit: 'second', promptTokens: 0 })
      expect(record.chargePico).toBe(3n * record.unitsRatePico!)
      await nothingIsStored()
    },
  )

  test('are transcribed with the times of words, or as plain text', async () => {
    const verbose = await client.audio.transcriptions.create({
      model: 'test/hear',
      file: await file(),
      response_format: 'verbose_json',
      timestamp_granularities: ['word'],
    })
    expect(verbose).toMatchObject({ duration: 2.6 })
    expect(verbose.words!.length).toBeGreaterThan(1)
    const plain = await client.audio.transcriptions.create({
      model: 'test/hear',
      file: await file(),
      response_format: 'text',
    })
    expect(plain).toBe(`${verbose.text}\n`)
  })

  test('are translated', async () => {
    const { text } = await client.audio.translations.create({ model: 'test/hear', file: await file() })
    expect(text).not.toBe('')
    expect(await latestCall()).toMatchObject({ status: 'completed', units: 3 })
  })

  test('that are none are refused, and nothing of them stays', async () => {
    const asked = { model: 'test/hear', file: await toFile(Buffer.from('<html>'), 'meeting.wav') }
    expect(await failureOf(client.audio.transcriptions.create(asked))).toMatchObject({
      status: 400,
      param: 'file',
    })
    expect(
      await failureOf(
        client.audio.transcriptions.create({ ...asked, model: 'test/none', file: await file() }),
      ),
    ).toMatchObject({ status: 404 })
    await nothingIsStored()
  })
})

test('a call whose answer file is lost gets an error and is not charged', async () => {
  const input = 'Lost on the way.'
  const { accountId: owner, key: other } = await stack.account('1.00')
  await stack.command('admin', 'surface', 'open', 'audio.speech', '--account', owner)
  // In every turn, so that the file is gone before a message of its worker can arrive.
  let losing = setImmediate(function lose() {
    removeStoredFiles()
    losing = setImmediate(lose)
  })
  const response = await postAs(other, `${stack.url}/v1/audio/speech`, {
    model: 'test/speech',
    voice: 'alloy',
    input,
  })
  clearImmediate(losing)
  expect(response.status).toBe(500)
  expect(await response.json()).toMatchObject({ error: { code: 'internal_error' } })
  await stack.settled(owner)
  await eventually(async () => {
    const { balancePico } = await stack.postgres.account.findUniqueOrThrow({ where: { id: owner } })
    expect(balancePico).toBe(parseUsd('1.00'))
  })
})

test('the ledger is in order', async () => {
  await expectLedgerInOrder(stack)
})
