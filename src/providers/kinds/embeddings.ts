import { type EmbeddingsContent, VECTOR_COMPONENTS_MAX } from '../../core/calls/kinds/embeddings.ts'
import { inOrder, type ResultKind, usageOf } from './result-kind.ts'

export const embeddings: ResultKind<EmbeddingsContent> = {
  path: '/embeddings',
  request({ input, dimensions, encoding }, { upstreamModel: model, provider }) {
    const { dimensionsField = 'dimensions', base64Vectors } = provider.quirks ?? {}
    return {
      body: {
        model,
        input,
        ...(dimensions !== undefined && { [dimensionsField]: dimensions }),
        // Numbers are the default of every provider.
        ...(encoding === 'base64' && base64Vectors && { encoding_format: encoding }),
      },
    }
  },
  read(content, { body }) {
    const result = vectorsOf(content, body.data)
    return result && { result, usage: usageOf(body) }
  },
}

/** A vector for each input, in the order of the inputs, all of the same length. */
function vectorsOf({ input, dimensions, encoding }: EmbeddingsContent, data: unknown): object[] | null {
  const found = inOrder(data, input.length)
  if (found === null) return null
  const lengths = new Set<number>(dimensions === undefined ? [] : [dimensions])
  const vectors = found.flatMap(({ embedding }, index) => {
    const length = vectorLength(embedding)
    if (length === 0) return []
    lengths.add(length)
    return { object: 'embedding', index, embedding: encoded(embedding as string | number[], encoding) }
  })
  const [length = 0] = lengths
  const isWhole = vectors.length === input.length && lengths.size === 1
  return isWhole && length * input.length <= VECTOR_COMPONENTS_MAX ? vectors : null
}

const FLOAT_BYTES = 4

/** The number of components of a vector, which has numbers or 32-bit floats in base64; 0 for any other value. */
function vectorLength(embedding: unknown): number {
  if (Array.isArray(embedding)) return embedding.every(Number.isFinite) ? embedding.length : 0
  if (typeof embedding !== 'string') return 0
  const components = Buffer.byteLength(embedding, 'base64') / FLOAT_BYTES
  return Number.isInteger(components) ? components : 0
}

function encoded(embedding: string | number[], encoding: EmbeddingsContent['encoding']): string | number[] {
  if (typeof embedding === 'string') return encoding === 'base64' ? embedding : floatsOf(embedding)
  return encoding === 'float' ? embedding : base64Of(embedding)
}

function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * FLOAT_BYTES)
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, index * FLOAT_BYTES)
  return bytes.toString('base64')
}

function floatsOf(base64: string): number[] {
  const bytes = Buffer.from(base64, 'base64')
  return Array.from({ length: bytes.length / FLOAT_BYTES }, (_, index) =>
    bytes.readFloatLE(index * FLOAT_BYTES),
  )
}
