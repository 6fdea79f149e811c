import { type Static, Type } from 'typebox'
import { optional } from '../../api/request-fields.ts'
import type { Model } from '../../catalog/catalog.ts'
import { invalid } from '../../kernel/errors.ts'
import type { RequestOf } from '../call-request.ts'
import {
  type CallKind,
  longestAtLeast,
  OBJECT_BODY,
  RESULT_FIELDS,
  RESULT_KIND,
  resultNeeds,
  resultRequest,
  sumOf,
  TOKENS_AROUND,
  textBounds,
  unsupported,
} from './call-kind.ts'

export interface EmbeddingsContent {
  kind: 'embeddings'
  /** Texts, or token ids of the model's own vocabulary. */
  input: readonly string[] | readonly (readonly number[])[]
  /** The length of each vector; by default the model's. */
  dimensions?: number
  /** The requested format of vectors: numbers, or 32-bit floats, little-endian, in base64. */
  encoding: (typeof ENCODINGS)[number]
}

const ENCODINGS = ['float', 'base64'] as const
const INPUTS_MAX = 2_048
const TOKEN_IDS_MAX = 32_768
const DIMENSIONS_MAX = 65_536
/** The components of all vectors of one result: 1 MiB of 32-bit floats. */
export const VECTOR_COMPONENTS_MAX = 262_144

/** The body of POST /v1/embeddings. Other top-level fields are accepted and dropped. */
export const EmbeddingsBody = Type.Object(
  {
    ...RESULT_FIELDS,
    input: Type.Unknown({
      description: 'A text, texts, token ids, or lists of token ids',
      documented: 'EmbeddingsInput',
    }),
    dimensions: optional(Type.Integer({ minimum: 1, maximum: DIMENSIONS_MAX })),
    encoding_format: optional(Type.Enum([...ENCODINGS])),
  },
  OBJECT_BODY,
)

/** Throws ApiError `invalid_request`. */
export const normalizeEmbeddings = (body: Static<typeof EmbeddingsBody>): RequestOf<EmbeddingsContent> =>
  resultRequest(body.model, body.provider, {
    kind: 'embeddings',
    input: parseInput(body.input),
    ...(body.dimensions != null && { dimensions: body.dimensions }),
    encoding: body.encoding_format ?? 'float',
  })

export const embeddings: CallKind<EmbeddingsContent> = {
  surface: 'POST /v1/embeddings',
  ...RESULT_KIND,
  needs(content) {
    const texts = textsOf(content)
    const ids = content.input.filter((input) => typeof input !== 'string').map(({ length }) => length)
    const size = {
      textTokens: sumOf(textBounds(texts)) + sumOf(ids.map((length) => length + TOKENS_AROUND)),
      textTokensAtLeast: Math.max(longestAtLeast(texts), ...ids),
      inputs: content.input.length,
    }
    return resultNeeds('embeddings', size, {
      isDoneBy: (model) => makesVectors(model, content),
      refusal: () => vectorsRefused(content),
      unitsBound: () => 0,
    })
  },
  texts: textsOf,
}

function textsOf({ input }: EmbeddingsContent): string[] {
  return input.filter((one) => typeof one === 'string')
}

/** Whether a model makes vectors of the requested length and one result can contain them. */
function makesVectors(
  { supportedParameters, dimensions = 0 }: Model,
  { input, dimensions: asked }: EmbeddingsContent,
): boolean {
  const length = asked ?? dimensions
  const isLengthMade =
    asked === undefined ||
    (length <= dimensions && (length === dimensions || supportedParameters.includes('dimensions')))
  return isLengthMade && input.length * length <= VECTOR_COMPONENTS_MAX
}

const vectorsRefused = ({ dimensions }: EmbeddingsContent) =>
  unsupported(
    dimensions === undefined ? 'input' : 'dimensions',
    `One response contains at most ${VECTOR_COMPONENTS_MAX} numbers: the number of inputs times the length of the vectors. Send fewer inputs, or request \`dimensions\` that the model supports.`,
  )

function parseInput(input: unknown): EmbeddingsContent['input'] {
  const inputs = typeof input === 'string' || isTokenIds(input) ? [input] : input
  if (!Array.isArray(inputs) || inputs.length === 0 || inputs.length > INPUTS_MAX)
    throw invalid(
      'input',
      `\`input\` must be a text, or an array of 1 to ${INPUTS_MAX} texts or lists of token ids.`,
    )
  if (inputs.every((entry) => typeof entry === 'string' && entry !== '')) return inputs
  if (inputs.every(isTokenIds)) return inputs
  const at = inputs.findIndex((entry) => !isTokenIds(entry) && (typeof entry !== 'string' || entry === ''))
  throw invalid(
    `input[${Math.max(at, 0)}]`,
    `Inputs must be all non-empty texts, or all lists of 1 to ${TOKEN_IDS_MAX} token ids.`,
  )
}

const isTokenIds = (value: unknown): value is number[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.length <= TOKEN_IDS_MAX &&
  value.every((id) => Number.isSafeInteger(id) && (id as number) >= 0)
