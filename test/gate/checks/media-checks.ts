import assert from 'node:assert/strict'
import { setTimeout as delay } from 'node:timers/promises'
import { Ajv } from 'ajv'
import { ImagesResponse } from '../../../src/core/api/reference/image.ts'
import { TranscriptResponse } from '../../../src/core/api/reference/transcription.ts'
import type { SurfaceId } from '../../../src/core/api/surfaces/surface-registry.ts'
import { imageSize } from '../../../src/core/media/image-size.ts'
import { encodePng } from '../../../tools/simulated-providers/tasks/png.ts'
import { encodeWav, secondsOf, toneSamples } from '../../../tools/simulated-providers/tasks/speech-audio.ts'
import { type Answer, ask, type GateContext, type SurfaceGate } from '../check.ts'
import { answerTo, type OneAnswerSurface, oneAnswerGate } from './one-answer-gate.ts'

/** A surface that makes or reads files. */
type MediaSurface = Omit<OneAnswerSurface, 'envelope' | 'usage'> & {
  /** What the body is charged. */
  charged: { units: number; unit: string }
}

const SETTLED_WITHIN_MS = 10_000

interface ListedCalls {
  data: Array<{ id: string; model: string; usage: { units?: number; unit?: string } }>
}

async function latestCall(context: GateContext) {
  const { status, json, text } = await ask(context, '/v1/usage/calls?limit=1', { method: 'GET' })
  assert.equal(status, 200, text)
  return (json as ListedCalls).data[0]
}

const mediaGate = ({ charged, ...surface }: MediaSurface): SurfaceGate =>
  oneAnswerGate({
    ...surface,
    refused: [...surface.refused, [{ model: undefined }, 'model']],
    envelope: ({ headers, bytes }) =>
      assert.equal(Number(headers.get('content-length')), bytes.length, 'the length is announced'),
    usage: async (context) => {
      const before = await latestCall(context)
      await answerTo(context, surface, surface.body)
      const deadline = Date.now() + SETTLED_WITHIN_MS
      let call = await latestCall(context)
      while (call?.id === before?.id && Date.now() < deadline) {
        await delay(100)
        call = await latestCall(context)
      }
      assert.equal(call?.model, surface.body.model)
      assert.deepEqual({ units: call.usage.units, unit: call.usage.unit }, charged)
    },
  })

const ajv = new Ajv()
const isImages = ajv.compile<{ data: Array<{ b64_json: string }> }>(ImagesResponse)
const isTranscript = ajv.compile<{ text: string }>(TranscriptResponse)

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

const SPOKEN = 'Trains need shunting yards.'
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
