import { type Static, Type } from 'typebox'
import { optional } from '../../api/request-fields.ts'
import { isObject } from '../../json/json-object.ts'
import { invalid } from '../../kernel/errors.ts'
import type { RequestOf } from '../call-request.ts'
import { modelId } from '../request-parameters.ts'
import {
  type CallKind,
  longestAtLeast,
  OBJECT_BODY,
  RESULT_FIELDS,
  RESULT_KIND,
  resultNeeds,
  resultRequest,
  sumOf,
  textBounds,
} from './call-kind.ts'

export interface ModerationContent {
  kind: 'moderation'
  /** Texts with one result each, or the parts of one content with one result. */
  input: readonly string[] | readonly ModerationPart[]
}

type ModerationPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

const INPUTS_MAX = 2_048
export const DEFAULT_MODERATION_MODEL = 'omni-moderation-latest'

/** The body of POST /v1/moderations. Other top-level fields are accepted and dropped. */
export const ModerationsBody = Type.Object(
  {
    model: optional(modelId),
    provider: RESULT_FIELDS.provider,
    input: Type.Unknown({
      description: 'A text, texts, or the parts of one content',
      documented: 'ModerationsInput',
    }),
  },
  OBJECT_BODY,
)

/** Throws ApiError `invalid_request`. */
export const normalizeModerations = (body: Static<typeof ModerationsBody>): RequestOf<ModerationContent> =>
  resultRequest(body.model ?? DEFAULT_MODERATION_MODEL, body.provider, {
    kind: 'moderation',
    input: parseInput(body.input),
  })

export const moderation: CallKind<ModerationContent> = {
  surface: 'POST /v1/moderations',
  ...RESULT_KIND,
  needs(content) {
    const texts = textsOf(content)
    const size = {
      textTokens: sumOf(textBounds(texts)),
      textTokensAtLeast: longestAtLeast(texts),
      inputs: content.input.length,
    }
    return resultNeeds('moderation', size, { unitsBound: () => 0 })
  },
  texts: textsOf,
}

function textsOf({ input }: ModerationContent): string[] {
  return input.flatMap((one) => (typeof one === 'string' ? [one] : one.type === 'text' ? [one.text] : []))
}

function parseInput(input: unknown): ModerationContent['input'] {
  const inputs = typeof input === 'string' ? [input] : input
  if (!Array.isArray(inputs) || inputs.length === 0 || inputs.length > INPUTS_MAX)
    throw invalid('input', `\`input\` must be a text, or an array of 1 to ${INPUTS_MAX} texts or parts.`)
  if (inputs.every((entry) => typeof entry === 'string')) return inputs
  return inputs.map(parsePart)
}

function parsePart(part: unknown, index: number): ModerationPart {
  if (isObject(part)) {
    const { type, text, image_url: image } = part
    if (type === 'text' && typeof text === 'string') return { type, text }
    if (type === 'image_url' && isObject(image) && isImageUrl(image.url))
      return { type, image_url: { url: image.url } }
  }
  throw invalid(
    `input[${index}]`,
    'Inputs must be all texts, or all parts: {type: "text", text} and {type: "image_url", image_url: {url}}.',
  )
}

const isImageUrl = (url: unknown): url is string =>
  typeof url === 'string' && /^(https?:\/\/|data:image\/)/.test(url)
