import { Type } from 'typebox'
import type { SurfaceId } from '../surfaces/surface-registry.ts'

/** What the documentation shows of a surface that no schema of its route says. */
export interface SurfaceReference {
  request: SurfaceExample
  response: DescribedResponse
  /** The response to the example, where it is shown. */
  answer?: object
}

/** What the documentation shows of the surfaces of one kind of call. */
export type KindReference = Readonly<Partial<Record<SurfaceId, SurfaceReference>>>

/** A request to show in the documentation. */
export interface SurfaceExample {
  /** Values of the path's parameters. */
  path?: Record<string, string>
  query?: Record<string, string>
  /** A JSON body. */
  body?: Record<string, unknown>
  /** The fields of a multipart body; a value `@name` is a file. */
  form?: Record<string, string>
  /** The response is not JSON and goes to this file. */
  output?: string
}

/** A response of an OpenAPI operation. */
export interface DescribedResponse {
  description: string
  content: Record<string, { schema: object; example?: unknown }>
}

export const jsonResponse = (description: string, schema: object): DescribedResponse => ({
  description,
  content: { 'application/json': { schema } },
})

/** The id of a call in examples. */
export const EXAMPLE_ID = 'chatcmpl_01JABCDEFGHJKMNPQRSTVWXYZ0'

/** The first fields of a result. */
export const RESULT_HEAD = { id: Type.String({ pattern: '^chatcmpl_' }), model: Type.String() }

/** The usage of a result. */
export const ResultTokens = Type.Object({
  prompt_tokens: Type.Integer({ minimum: 0 }),
  total_tokens: Type.Integer({ minimum: 0 }),
})
