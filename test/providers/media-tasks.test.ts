import { randomBytes } from 'node:crypto'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ImageContent, MadeFile } from '../../src/core/calls/kinds/image.ts'
import type { SpeechContent } from '../../src/core/calls/kinds/speech.ts'
import type { TranscriptionContent } from '../../src/core/calls/kinds/transcription.ts'
import { imageSize } from '../../src/core/media/image-size.ts'
import { createBodyStore } from '../../src/platform/body-store/body-store.ts'
import { createFolderStorage } from '../../src/platform/body-store/folder-storage.ts'
import { createStreamSealer } from '../../src/platform/body-store/stream-sealer.ts'
import { createSign } from '../../src/providers/credentials/create-sign.ts'
import { image as images } from '../../src/providers/kinds/image.ts'
import { speech } from '../../src/providers/kinds/speech.ts'
import { transcription } from '../../src/providers/kinds/transcription.ts'
import {
  createProviderClients,
  createTransport,
  type Transport,
} from '../../src/providers/provider-clients.ts'
import type { ResponseFile } from '../../src/providers/response-files.ts'
import type { Fields } from '../../src/providers/wire.ts'
import { WIRE_MAPPINGS } from '../../src/providers/wires.ts'
import {
  type SimulatedProviders,
  startSimulatedProviders,
} from '../../tools/simulated-providers/start-simulated-providers.ts'
import { encodePng } from '../../tools/simulated-providers/tasks/png.ts'
import { encodeWav, toneSamples } from '../../tools/simulated-providers/tasks/speech-audio.ts'
import { takenApart } from '../helpers/attempt-result.ts'
import { offerAt } from '../helpers/scripted-provider.ts'

const OWNER = { accountId: 'acct_1', callId: 'chatcmpl_1' } as const
const LIMITS = { bytesPerAccount: 2 ** 30, bytesInAll: 2 ** 30, freeBytes: 0 }
const PATIENT = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 }

let providers: SimulatedProviders
let transport: Transport
let folder: string
beforeAll(async () => {
  providers = await startSimulatedProviders()
  transport = createTransport({ connectTimeoutMs: 30_000 })
})
afterAll(() => Promise.all([providers.close(), transport.close()]))
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shuntyard-files-'))
  return () => rm(folder, { recursive: true })
})

const png = encodePng(64, 64, 1)
const wav = encodeWav(toneSamples(2.6, 1))
const CHOICE = { quality: '', size: '128x64', unitsEach: 5 }
const IMAGE: ImageContent = { kind: 'image', prompt: 'a fox', count: 2, sources: [] }
const SPEECH: SpeechContent = { kind: 'speech', input: 'Hello there', voice: 'alloy', format: 'wav' }
const FILE = { ref: 'acct_1/chatcmpl_1/file-0', bytes: 0, mediaType: 'image/png', fileName: 'file.png' }
const TRANSCRIPTION: TranscriptionContent = {
  kind: 'transcription',
  translates: false,
  file: { ...FILE, mediaType: 'audio/wav', fileName: 'file.wav' },
  secondsBound: 3,
  granularities: [],
  format: 'json',
}

/** Asks a provider that refuses unknown fields, with a store in which these files are. */
async function ask(
  task: ImageContent | SpeechContent | TranscriptionContent,
  behaviour = 'tag-media',
  ...files: Buffer[]
) {
  const store = createBodyStore({
    storage: createFolderStorage(folder),
    sealer: createStreamSealer([randomBytes(32)], 'test'),
    limits: LIMITS,
    clock: Date.now,
  })
  const options = { maxBytes: 2 ** 24, mediaType: 'any' }
  for (const [index, file] of files.entries())
    await store.put(OWNER, `file-${index}`, toStream(file), options)
  const client = createProviderClients({
    sign: createSign(Date.now),
    wires: WIRE_MAPPINGS,
    transport,
    ourKey: () => null,
    files: store,
    connectTimeoutMs: 30_000,
    now: Date.now,
  })('chat-completions')
  const offer = offerAt(`${providers.url}/alpha/v1`)
  let content = ''
  const outcome = await client.attempt(
    {
      ...{ content: task, image: CHOICE, ...OWNER, limits: PATIENT, completionLimit: 0 },
      offer: { ...offer, upstreamModel: behaviour, provider: { ...offer.provider, apiKeyEnv: null } },
      signal: new AbortController().signal,
    },
    (progress) => {
      if (progress[0] === 'result') content += progress[1]
    },
  )
  const answer = content === '' ? null : (JSON.parse(content) as MadeFile[])
  const read = async ({ ref }: MadeFile) => text((await store.open(ref))!)
  return { result: takenApart(outcome).result, answer, read }
}

async function* toStream(bytes: Buffer) {
  yield bytes
}

const sent = (file: Buffer) => ({ ...FILE, bytes: file.length })

describe('images', () => {
  test.each<[string, Partial<ImageContent>, Buffer[]]>([
    ['generated', {}, []],
    ['edited', { sources: [sent(png)], mask: { ...sent(png), ref: 'acct_1/chatcmpl_1/file-1' } }, [png, png]],
    ['edited from several', { sources: [sent(png), sent(png)] }, [png]],
  ])('are %s in the size that is held for, stored, and charged by number', async (_, fields, files) => {
    const { result, answer, read } = await ask({ ...IMAGE, ...fields }, undefined, ...files)
    expect(result).toMatchObject({ kind: 'finished', usage: { units: 10 } })
    expect(await Promise.all(answer!.map(read)).then((all) => all.map(imageSize))).toEqual([
      { width: 128, height: 64 },
      { width: 128, height: 64 },
    ])
  })

  test('name size and quality upstream where the client named none, and base64 where it is not the default', () => {
    const image = { size: '64x64', quality: 'low', unitsEach: 1 }
    const base = offerAt('https://api.example/v1')
    const offer = { ...base, provider: { ...base.provider, quirks: { base64Images: true } } }
    expect(images.request({ ...IMAGE, quality: 'auto' }, offer, image)).toMatchObject({
      path: '/generations',
      body: { model: 'large-1', size: '64x64', quality: 'low', response_format: 'b64_json', n: 2 },
    })
  })

  const files = [png, png].map((bytes, index) => ({
    ...{ ref: `file-${index}`, bytes: 9, mediaType: '' },
    head: Buffer.from(bytes.toString('base64')),
  }))
  const image = { b64_json: '0' }
  const readImages = (body: Fields, made = files) => images.read(IMAGE, { body, files: made, image: CHOICE })

  test('of a reply are passed on without anything else, and charged for as many as there are', () => {
    const data = [{ ...image, revised_prompt: 'a red fox', url: 'https://x' }]
    expect(readImages({ provider: 'alpha', data })).toEqual({
      result: [{ ref: 'file-0', bytes: 9, revisedPrompt: 'a red fox' }],
      usage: { promptTokens: 0, completionTokens: 0, units: 5 },
    })
  })

  test('take the tokens that are reported, and of their output no more than is held for', () => {
    const usage = { input_tokens: 9, input_tokens_details: { image_tokens: 4 }, output_tokens: 3 }
    const read = (output: unknown) =>
      readImages({ data: [image], usage: { ...usage, output_tokens: output } })?.usage
    expect(read(3)).toEqual({ promptTokens: 9, imageTokens: 4, completionTokens: 0, units: 3 })
    expect([read(1e9)?.units, read(0)?.units, read('3')?.units]).toEqual([5, 5, 5])
  })

  test.each<[string, unknown]>([
    ['more than asked', [image, image, image]],
    ['none', []],
    ['an address', [{ url: 'https://images.example/1.png' }]],
    ['no image', [{ b64_json: '1' }]],
    ['a file that is not there', [{ b64_json: '7' }]],
    ['no list', 'x'],
  ])('are malformed: %s', (_, data) => {
    const others = [files[0]!, { ...files[1]!, head: Buffer.from('PGh0bWw+') }]
    expect(readImages({ data }, others)).toBeNull()
  })

  test.each(['cut-after-1', 'html-200', 'garbage', 'status-500'])(
    'of a reply that is broken (%s) leave nothing',
    async (behaviour) => {
      const { result, answer } = await ask(IMAGE, behaviour)
      expect(result.kind).toBe('failed')
      expect(answer).toBeNull()
    },
  )
})

describe('speech', () => {
  test.each(['wav', 'mp3', 'pcm'] as const)('comes as %s, into the store', async (format) => {
    const { result, answer, read } = await ask({ ...SPEECH, format, speed: 2 })
    expect(result).toMatchObject({ kind: 'finished', usage: null })
    expect(answer).toHaveLength(1)
    expect((await read(answer![0]!)).length).toBeGreaterThan(0)
  })

  test('is known by its first bytes', () => {
    const readSpeech = (...files: ResponseFile[]) =>
      speech.read(SPEECH, { body: {}, files, image: undefined })
    const read = (head: Buffer) => readSpeech({ ref: 'f', bytes: 9, mediaType: '', head })
    expect(read(wav)).toEqual({ result: [{ ref: 'f', bytes: 9 }], usage: null })
    expect([read(Buffer.from('{"error":{}}')), read(Buffer.from('<html>')), readSpeech()]).toEqual([
      null,
      null,
      null,
    ])
  })

  test('that breaks off leaves nothing in the store', async () => {
    expect((await ask(SPEECH, 'cut-after-1')).result.kind).toBe('failed')
    expect(await readdir(folder)).toEqual([])
  })
})

const readTranscript = (body: Fields) =>
  transcription.read(TRANSCRIPTION, { body, files: [], image: undefined })

describe('a transcript', () => {
  test.each([false, true])('is read, with its seconds; translated: %s', async (translates) => {
    const file = { ...TRANSCRIPTION.file, bytes: wav.length }
    const task = { ...TRANSCRIPTION, translates, file, prompt: 'names', temperature: 0.5 }
    const { result, answer } = await ask(task, undefined, wav)
    expect(result).toMatchObject({ kind: 'finished', usage: { units: 3 } })
    expect(answer).toMatchObject([{ duration: 2.6, segments: [{ id: 0 }], words: [] }])
    expect(answer![0]).not.toHaveProperty('provider')
  })

  test.each([{ text: 'x' }, { text: 'x', duration: -1 }, { text: 'x', duration: '2' }, { duration: 2 }])(
    'is malformed without a text and its duration: %j',
    (reply) => {
      expect(readTranscript(reply)).toBeNull()
    },
  )

  test('never costs more than is held, whatever its provider says', () => {
    expect(readTranscript({ text: 'x', duration: 1e12 })?.usage?.units).toBe(3)
  })

  test('of a recording that is gone is no fault of its provider', async () => {
    const asked = ask({ ...TRANSCRIPTION, file: { ...TRANSCRIPTION.file, bytes: 10 } })
    await expect(asked).rejects.toThrow('a file of the call is gone')
  })
})
