import { textHash } from '../answer.ts'
import { encodePng } from './png.ts'
import { hasOnly, jsonReply, type SimulatedTask, type TaskContext, type TaskInput } from './simulated-task.ts'

const FIELDS = [
  'model',
  'prompt',
  'n',
  'size',
  'quality',
  'style',
  'background',
  'moderation',
  'response_format',
  'output_format',
  'user',
]
const DEFAULT_SIZE = '1024x1024'
const SIDE_MAX = 4_096
const IMAGES_MAX = 10
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

function images({ fields }: TaskInput, source: string, { behaviour, provider, created }: TaskContext) {
  const { prompt, size = DEFAULT_SIZE, response_format: format, output_format: encoding } = fields
  const count = Number(fields.n ?? 1)
  if (!hasOnly(fields, FIELDS) || typeof prompt !== 'string' || prompt === '') return null
  if ((format ?? 'b64_json') !== 'b64_json' || (encoding ?? 'png') !== 'png') return null
  const sides = /^(\d{2,4})x(\d{2,4})$/.exec(size === 'auto' ? DEFAULT_SIZE : String(size))
  const [width, height] = [Number(sides?.[1]), Number(sides?.[2])]
  if (
    !Number.isInteger(count) ||
    count < 1 ||
    count > IMAGES_MAX ||
    !(width <= SIDE_MAX && height <= SIDE_MAX)
  ) {
    return null
  }
  const data = Array.from({ length: behaviour.style === 'empty' ? 0 : count }, (_, index) => ({
    b64_json: encodePng(width, height, textHash(`${prompt}:${source}:${index}`)).toString('base64'),
  }))
  return jsonReply({ created, data, provider }, behaviour)
}
