import type { Behaviour } from '../behaviour.ts'
import { textHash } from '../completion.ts'
import { imageTokens } from './image-tokens.ts'
import { encodePng } from './png.ts'
import {
  hasOnly,
  jsonReply,
  noise,
  reportedCount,
  type SimulatedTask,
  type TaskContext,
  type TaskInput,
  tokensOf,
} from './simulated-task.ts'

const FIELDS = ['model', 'prompt', 'n', 'size', 'background', 'moderation', 'output_format', 'user']
/** Of models whose tokens are reported: they send nothing but base64, and know qualities. */
const TOKEN_FIELDS = [...FIELDS, 'quality']
const OTHER_FIELDS = [...FIELDS, 'style', 'response_format']
const DEFAULT_SIZE = '1024x1024'
const SIDE_MAX = 4_096
const IMAGES_MAX = 10
const SOURCE_TOKENS = 1_024
const SIGNATURES = ['\x89PNG', '\xff\xd8\xff', 'RIFF']

/** Images that are a pure function of the prompt, as PNGs of the size that was asked for. */
export const IMAGE_GENERATIONS: SimulatedTask = {
  reply: (input, context) => (input.files.length > 0 ? null : images(input, '', context)),
}

/** The same for a prompt and the images that it is about. */
export const IMAGE_EDITS: SimulatedTask = {
  reply(input, context) {
    const sources = input.files.filter(({ field }) => field === 'image')
    const others = input.files.length - sources.length
    const masks = input.files.filter(({ field }) => field === 'mask').length
    if (sources.length === 0 || others !== masks || masks > 1) return null
    const areImages = input.files.every(({ bytes }) =>
      SIGNATURES.some((signature) => bytes.toString('latin1', 0, signature.length) === signature),
    )
    return areImages
      ? images(input, sources.map(({ bytes }) => bytes.toString('latin1')).join(), context)
      : null
  },
}

function images({ fields, files }: TaskInput, source: string, context: TaskContext) {
  const { behaviour, provider, created } = context
  const { prompt, response_format: format, output_format: encoding } = fields
  const hasTokens = behaviour.imageQualities !== undefined
  if (!hasOnly(fields, hasTokens ? TOKEN_FIELDS : OTHER_FIELDS)) return null
  if (typeof prompt !== 'string' || prompt === '' || (encoding ?? 'png') !== 'png') return null
  if (format !== undefined && format !== 'b64_json' && format !== 'url') return null
  const count = Number(fields.n ?? 1)
  const size = sizeOf(fields.size)
  if (!Number.isInteger(count) || count < 1 || count > IMAGES_MAX || size === null) return null
  const made = behaviour.style === 'empty' ? 0 : count
  const usage = usageOf(
    { prompt, sources: files.length, count: made, quality: fields.quality, size },
    behaviour,
  )
  if (usage === null) return null
  const asUrls = format === 'url' || (behaviour.sendsImageUrls && format === undefined)
  const data = Array.from({ length: made }, (_, index) => {
    const seed = textHash(`${prompt}:${source}:${index}`)
    if (asUrls) return { url: `https://images.${provider}.example/${seed}.png` }
    const png = encodePng(size.width, size.height, seed)
    return { b64_json: (behaviour.garbage ? noise(png.length) : png).toString('base64') }
  })
  return jsonReply({ created, data, ...usage, provider }, behaviour)
}

function sizeOf(asked: unknown): { width: number; height: number } | null {
  const text = asked === undefined || asked === 'auto' ? DEFAULT_SIZE : String(asked)
  const sides = /^(\d{2,4})x(\d{2,4})$/.exec(text)
  const [width, height] = [Number(sides?.[1]), Number(sides?.[2])]
  return width <= SIDE_MAX && height <= SIDE_MAX ? { width, height } : null
}

interface Made {
  prompt: string
  sources: number
  count: number
  quality: unknown
  size: { width: number; height: number }
}

/** As such makers report it: tokens by kind. Null if there is no such quality. */
function usageOf({ prompt, sources, count, quality, size }: Made, behaviour: Behaviour): object | null {
  if (behaviour.imageQualities === undefined) return {}
  const each = imageTokens(behaviour.imageQualities, quality, size)
  if (each === null) return null
  const text = reportedCount(tokensOf([prompt]), behaviour)
  if (text === undefined) return {}
  const image = reportedCount(sources * SOURCE_TOKENS, behaviour)!
  const output = reportedCount(count * each, behaviour)!
  return {
    usage: {
      input_tokens: text + image,
      input_tokens_details: { text_tokens: text, image_tokens: image },
      output_tokens: output,
      output_tokens_details: { text_tokens: 0, image_tokens: output },
      total_tokens: text + image + output,
    },
  }
}
