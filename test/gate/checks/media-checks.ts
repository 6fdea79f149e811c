import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { Ajv } from 'ajv'
import OpenAI, { NotFoundError } from 'openai'
import { VERSION } from 'openai/version'
import type { SurfaceId } from '../../../src/core/api/surface-registry.ts'
import { ImagesAnswer, TranscriptAnswer } from '../../../src/core/api/task-answers.ts'
import { imageSize } from '../../../src/core/media/image-size.ts'
import { encodePng } from '../../../tools/simulated-providers/tasks/png.ts'
import { encodeWav, secondsOf, toneSamples } from '../../../tools/simulated-providers/tasks/speech-audio.ts'
import { type Answer, ask, type Check, expectError, type GateContext, type SurfaceGate } from '../check.ts'
import { bearerKeyOnly, errorsTold, expectNothingHidden, fieldsRefused, limitsTold } from './common-checks.ts'

/** A surface that makes or reads files. */
interface MediaSurface {
  id: SurfaceId
  path: string
  body: { model: string } & Record<string, unknown>
  failingModel: string
  /** It takes a form instead of JSON. */
  isForm: boolean
  /** Bodies that are refused, and the parameter that the answer names. */
  refused: ReadonlyArray<readonly [changes: Record<string, unknown>, param: string]>
  /** Throws where it is no answer to the body. Returns what does not differ from answer to answer. */
  read: (answer: Answer) => unknown
  /** What the body is charged. */
  charged: { units: number; unit: string }
  client: (client: OpenAI, model: string) => Promise<unknown>
}

const clientOf = ({ url, key, fetch }: GateContext) =>
  new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0, logLevel: 'off', fetch })

const SETTLED_WITHIN_MS = 10_000

interface ListedCalls {
  data: Array<{ id: string; model: string; usage: { units?: number; unit?: string } }>
}

/** Everything that the gate demands of such a surface. */
function mediaGate(surface: MediaSurface): SurfaceGate {
  const { id, path, body, failingModel, isForm, refused, read, charged, client } = surface
  const refusedBodies = [...refused, [{ model: undefined }, 'model'] as const].map(
    ([changes, param]) => [{ ...body, ...changes }, param] as const,
  )

  const answerOf = async (context: GateContext, asked: object = body): Promise<unknown> => {
    const told = await ask(context, path, { body: asked })
    assert.equal(told.status, 200, told.text)
    expectNothingHidden(told)
    return read(told)
  }

  const exactPath = async (context: GateContext) => {
    await answerOf(context)
    expectError(await ask(context, path, { method: 'GET' }), 'method_not_allowed', 405)
    for (const other of [`${path}/more`, path.replace('/v1', '')])
      expectError(await ask(context, other, { body }), 'surface_unavailable', 404)
  }

  const ignoredFields = async (context: GateContext) => {
    assert.deepEqual(await answerOf(context, { ...body, unheard_of: 'yes' }), await answerOf(context))
  }

  const envelope = async (context: GateContext) => {
    const told = await ask(context, path, { body })
    read(told)
    assert.equal(Number(told.headers.get('content-length')), told.bytes.length, 'the length is announced')
  }

  const latestCall = async (context: GateContext) => {
    const { status, json, text } = await ask(context, '/v1/usage/calls?limit=1', { method: 'GET' })
    assert.equal(status, 200, text)
    return (json as ListedCalls).data[0]
  }

  const usage = async (context: GateContext) => {
    const before = await latestCall(context)
    await answerOf(context)
    const deadline = Date.now() + SETTLED_WITHIN_MS
    let call = await latestCall(context)
    while (call?.id === before?.id && Date.now() < deadline) {
      await delay(100)
      call = await latestCall(context)
    }
    assert.equal(call?.model, body.model)
    assert.deepEqual({ units: call.usage.units, unit: call.usage.unit }, charged)
  }

  const clientLibrary = async (context: GateContext) => {
    await client(clientOf(context), body.model)
    await assert.rejects(client(clientOf(context), 'gate/none'), NotFoundError)
    return `openai ${VERSION}`
  }

  // Models of other kinds are none here.
  const models = { unknown: ['gate/none', 'gate/plain'], failing: failingModel }
  const unreadable = isForm ? (['unsupported_media_type', 415] as const) : undefined
  const checks: Check[] = [
    { name: 'path', subject: 'exact path', run: exactPath },
    { name: 'bearer key', subject: 'auth header', run: bearerKeyOnly(path, body) },
    { name: 'required fields', subject: 'required fields', run: fieldsRefused(path, refusedBodies) },
    { name: 'ignored fields', subject: 'ignored fields', run: ignoredFields },
    { name: 'answer', subject: 'non-stream envelope', run: envelope },
    { name: 'usage as recorded', subject: 'usage', run: usage },
    { name: 'errors', subject: 'errors', run: errorsTold(path, body, models, unreadable) },
    { name: 'limits', subject: 'rate limits', run: limitsTold(path, body) },
    { name: 'openai for Node', subject: 'client libraries', run: clientLibrary },
  ]
  return {
    checks: checks.map((check) => ({ ...check, name: `${id}: ${check.name}` })),
    without: {
      'streaming protocol': 'it does not stream',
      'tool-call deltas': 'it calls no tools',
    },
  }
}

const ajv = new Ajv()
const isImages = ajv.compile<{ data: Array<{ b64_json: string }> }>(ImagesAnswer)
const isTranscript = ajv.compile<{ text: string }>(TranscriptAnswer)

const SIZE = { width: 128, height: 64 }

function readImages({ json, text }: Answer): unknown {
  assert.ok(isImages(json), `not as described: ${text.slice(0, 200)}`)
  for (const { b64_json: image } of json.data) assert.deepEqual(imageSize(image), SIZE)
  return json.data
}

function readTranscript({ json, text }: Answer): unknown {
  assert.ok(isTranscript(json), `not as described: ${text}`)
  return json
}

const png = new Blob([new Uint8Array(encodePng(64, 64, 1))], { type: 'image/png' })
const wav = new Blob([new Uint8Array(encodeWav(toneSamples(2.6, 1)))], { type: 'audio/wav' })
const file = (content: Blob, name: string) => new File([content], name, { type: content.type })

const SPOKEN = 'Trains need switchyards.'
const CHARACTERS_PER_SECOND = 15
const IMAGES = { model: 'gate/image', prompt: 'a fox', size: '128x64' }
const RECORDING = { model: 'gate/hear', file: wav }
const RECORDED = { failingModel: 'gate/hear-failing', isForm: true, charged: { units: 3, unit: 'second' } }

/** The gates of images and audio. */
export const MEDIA_GATES = {
  'images.generations': mediaGate({
    id: 'images.generations',
    path: '/v1/images/generations',
    body: IMAGES,
    failingModel: 'gate/image-failing',
    isForm: false,
    refused: [
      [{ prompt: undefined }, 'prompt'],
      [{ n: 11 }, 'n'],
      [{ response_format: 'url' }, 'response_format'],
    ],
    read: readImages,
    charged: { units: 2, unit: 'image' },
    client: async ({ images }, model) => {
      const { data } = await images.generate({ model, prompt: 'a fox', n: 2 })
      assert.equal(data?.length, 2)
    },
  }),
  'images.edits': mediaGate({
    id: 'images.edits',
    path: '/v1/images/edits',
    body: { ...IMAGES, image: png },
    failingModel: 'gate/image-failing',
    isForm: true,
    refused: [
      [{ prompt: undefined }, 'prompt'],
      [{ image: wav }, 'image'],
      [{ n: 'many' }, 'n'],
    ],
    read: readImages,
    charged: { units: 2, unit: 'image' },
    client: async ({ images }, model) => {
      const image = file(png, 'fox.png')
      const { data } = await images.edit({ model, image: [image, image], mask: image, prompt: 'a hat' })
      assert.equal(data?.length, 1)
    },
  }),
  'audio.speech': mediaGate({
    id: 'audio.speech',
    path: '/v1/audio/speech',
    body: { model: 'gate/speech', voice: 'alloy', input: SPOKEN, response_format: 'wav' },
    failingModel: 'gate/speech-failing',
    isForm: false,
    refused: [
      [{ input: undefined }, 'input'],
      [{ voice: undefined }, 'voice'],
      [{ speed: 9 }, 'speed'],
    ],
    read: ({ headers, bytes }) => {
      assert.equal(headers.get('content-type'), 'audio/wav')
      const seconds = SPOKEN.length / CHARACTERS_PER_SECOND
      assert.ok(Math.abs((secondsOf(bytes) ?? 0) - seconds) < 0.1, 'speech of its length')
      return bytes.toString('base64')
    },
    charged: { units: SPOKEN.length, unit: 'character' },
    client: async ({ audio }, model) => {
      const response = await audio.speech.create({ model, voice: 'alloy', input: SPOKEN })
      assert.ok((await response.arrayBuffer()).byteLength > 0)
    },
  }),
  'audio.transcriptions': mediaGate({
    ...RECORDED,
    id: 'audio.transcriptions',
    path: '/v1/audio/transcriptions',
    body: RECORDING,
    refused: [
      [{ file: undefined }, 'file'],
      [{ file: png }, 'file'],
      [{ response_format: 'srt' }, 'response_format'],
    ],
    read: readTranscript,
    client: async ({ audio }, model) => {
      const { text } = await audio.transcriptions.create({ model, file: file(wav, 'meeting.wav') })
      assert.notEqual(text, '')
    },
  }),
  'audio.translations': mediaGate({
    ...RECORDED,
    id: 'audio.translations',
    path: '/v1/audio/translations',
    body: RECORDING,
    refused: [
      [{ file: undefined }, 'file'],
      [{ temperature: 2 }, 'temperature'],
    ],
    read: readTranscript,
    client: async ({ audio }, model) => {
      const { text } = await audio.translations.create({ model, file: file(wav, 'meeting.wav') })
      assert.notEqual(text, '')
    },
  }),
} satisfies Partial<Record<SurfaceId, SurfaceGate>>
