import { type Static, Type } from 'typebox'
import { optional } from '../../api/request-fields.ts'
import type { Model } from '../../catalog/catalog.ts'
import { invalid } from '../../kernel/errors.ts'
import type { RequestOf } from '../call-request.ts'
import type { MediaPart } from '../content-part.ts'
import {
  type CallKind,
  type ImageChoice,
  longestAtLeast,
  ONLY_WHOLE,
  RESULT_FIELDS,
  RESULT_KIND,
  resultNeeds,
  resultRequest,
  sumOf,
  textBounds,
  unsupported,
} from './call-kind.ts'
import { type CallFile, callFile, type Form, readFields } from './form-fields.ts'

export interface ImageContent {
  kind: 'image'
  prompt: string
  count: number
  /** As requested. Absent or `auto`: the first size in the model's table of units. */
  size?: string
  quality?: string
  background?: (typeof BACKGROUNDS)[number]
  style?: (typeof STYLES)[number]
  /** The images to edit. Empty: the image is generated from the prompt alone. */
  sources: readonly CallFile[]
  mask?: CallFile
}

/** A file that the call made: an image is stored as base64. */
export interface MadeFile {
  ref: string
  bytes: number
  revisedPrompt?: string
}

const AUTO = 'auto'
const BACKGROUNDS = ['transparent', 'opaque', AUTO] as const
const STYLES = ['vivid', 'natural'] as const
const PROMPT_CHARS_MAX = 32_000
const IMAGES_MAX = 10
const SOURCES_MAX = 16

const FIELDS = {
  ...RESULT_FIELDS,
  prompt: Type.String({ minLength: 1, maxLength: PROMPT_CHARS_MAX }),
  n: optional(Type.Integer({ minimum: 1, maximum: IMAGES_MAX })),
  size: optional(
    Type.String({
      pattern: '^(auto|[1-9]\\d{1,3}x[1-9]\\d{1,3})$',
      errorMessage: '`{param}` must be `auto` or a size such as `1024x1024`.',
    }),
  ),
  quality: optional(Type.Enum([AUTO, 'low', 'medium', 'high', 'xhigh', 'max', 'standard', 'hd'])),
  background: optional(Type.Enum([...BACKGROUNDS])),
  response_format: optional(
    Type.Enum(['b64_json'], { errorMessage: '`{param}` must be b64_json: images are not hosted here.' }),
  ),
  output_format: optional(Type.Enum(['png'])),
  stream: ONLY_WHOLE,
}

/**
 * The body of POST /v1/images/generations. Fields that would change the form of the response, or a price that the
 * hold does not cover, are refused; other unknown fields are accepted and dropped.
 */
export const ImageGenerationBody = Type.Object({
  ...FIELDS,
  style: optional(Type.Enum([...STYLES])),
})
type ImageGenerationBody = Static<typeof ImageGenerationBody>

/** The form fields of POST /v1/images/edits, without the files. */
const ImageEditFields = Type.Object(FIELDS)

const FILE = Type.Unsafe<string>({ type: 'string', format: 'binary' })
/** The form with its files, for the API description. */
export const ImageEditForm = Type.Object({
  ...FIELDS,
  image: Type.Array(FILE, { minItems: 1, maxItems: SOURCES_MAX }),
  mask: Type.Optional(FILE),
})

export const normalizeImageGeneration = (body: ImageGenerationBody): RequestOf<ImageContent> =>
  resultRequest(body.model, body.provider, contentOf(body, []))

/** Throws ApiError `invalid_request`. */
export function normalizeImageEdit({ fields, files }: Form): RequestOf<ImageContent> {
  const body = readFields(ImageEditFields, fields)
  const sent = files.map((file) => ({ field: file.field, file: callFile(file, 'image') }))
  const sources = sent.filter(({ field }) => field === 'image')
  const masks = sent.filter(({ field }) => field === 'mask')
  if (sources.length === 0 || sources.length > SOURCES_MAX)
    throw invalid('image', `Send 1 to ${SOURCES_MAX} files as \`image\`.`)
  if (masks.length > 1 || sources.length + masks.length < files.length)
    throw invalid('mask', 'Beside `image`, only one file is taken, as `mask`.')
  const content = contentOf(
    body,
    sources.map(({ file }) => file),
    masks[0]?.file,
  )
  return resultRequest(body.model, body.provider, content)
}

function contentOf(
  body: Static<typeof ImageEditFields> & Pick<ImageGenerationBody, 'style'>,
  sources: readonly CallFile[],
  mask?: CallFile,
): ImageContent {
  const { prompt, n, size, quality, background, style } = body
  return {
    kind: 'image',
    prompt,
    count: n ?? 1,
    ...(size != null && { size }),
    ...(quality != null && { quality }),
    ...(background != null && { background }),
    ...(style != null && { style }),
    sources,
    ...(mask && { mask }),
  }
}

export const image: CallKind<ImageContent> = {
  surface: 'POST /v1/images/generations',
  ...RESULT_KIND,
  outlivesClient: true,
  modalities: ({ sources }) => (sources.length > 0 ? ['text', 'image'] : ['text']),
  media: ({ sources, mask }) => (mask ? [...sources, mask] : sources).map(ofUnknownSize),
  needs: (content) => ({
    ...resultNeeds(
      'image',
      {
        textTokens: sumOf(textBounds([content.prompt])),
        textTokensAtLeast: longestAtLeast([content.prompt]),
        media: image.media(content),
      },
      {
        comesWhole: true,
        isDoneBy: (model) =>
          imageChoice(content, model) !== null &&
          parametersOf(content).every((name) => model.supportedParameters.includes(name)),
        refusal: () => imageRefused(content),
        unitsBound: (model) => (imageChoice(content, model)?.unitsEach ?? 0) * content.count,
        image: (model) => imageChoice(content, model),
      },
    ),
    modalities: image.modalities(content),
  }),
  texts: ({ prompt }) => [prompt],
}

const ofUnknownSize = ({ ref: url }: CallFile): MediaPart => ({ type: 'image', source: { url } })

/** The image that a model makes of a request, by its table of units; null if it makes no such image. */
function imageChoice(
  { quality, size }: ImageContent,
  { imageUnits = {} }: Pick<Model, 'imageUnits'>,
): ImageChoice | null {
  const fits = (asked: string | undefined, offered: string) =>
    asked === undefined || asked === AUTO || asked === offered
  for (const [key, unitsEach] of Object.entries(imageUnits)) {
    const [offeredQuality = '', offeredSize = ''] = key.split('/')
    if (fits(quality, offeredQuality) && fits(size, offeredSize))
      return { quality: offeredQuality, size: offeredSize, unitsEach }
  }
  return null
}

/** The used parameters that not every image model supports, named as in the catalog. */
const parametersOf = ({ background = AUTO, style }: ImageContent): string[] => [
  ...(background === AUTO ? [] : ['background']),
  ...(style === undefined ? [] : ['style']),
]

/** Refuses a parameter that not every model supports, or a size or quality. */
function imageRefused(content: ImageContent) {
  const [parameter] = parametersOf(content)
  if (parameter !== undefined)
    return unsupported(
      parameter,
      `The model does not support \`${parameter}\`, or not in this size and quality. Omit it, or choose another model.`,
    )
  return unsupported(
    content.size === undefined ? 'quality' : 'size',
    'The model does not support this size and quality. Omit `size` and `quality`, or send a pair with a price in GET /pricing.json.',
  )
}
