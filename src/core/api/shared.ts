import { type Static, type TSchema, Type } from 'typebox'
import { nullable } from './request-fields.ts'

/**
 * Conventions of the JSON under /console/api and /admin/api. Names are snake_case; amounts are exact decimal strings of
 * USD, rates decimal strings of USD per million tokens; times are ISO 8601 in UTC; durations end in `_ms` and are whole
 * milliseconds; null means unknown or not applicable. Every response of 400 and above is an ErrorBody. Requests that
 * change something are JSON, same-origin, and carry the session cookie (docs/accounts.md).
 *
 * Each schema has a type of the same name: routes declare the schemas, pages import the types.
 */

/** The error body of every route of the gateway. */
export const ErrorBody = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.String(),
    /** The offending field, or null. Show the message beside the field. */
    param: nullable(Type.String()),
    code: Type.String(),
    request_id: Type.String(),
    metadata: Type.Optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]))),
  }),
})
export type ErrorBody = Static<typeof ErrorBody>

/** USD, an exact decimal string. */
export const DecimalUsd = Type.String({ description: 'USD, an exact decimal string' })

/** ISO 8601 in UTC. */
export const IsoTime = Type.String({ format: 'date-time' })

export interface List<T> {
  object: 'list'
  data: T[]
}
export const List = <T extends TSchema>(item: T) =>
  Type.Object({ object: Type.Literal('list'), data: Type.Array(item) })

/** A page of a list, newest first. Pass `next_cursor` as `cursor`; it is null at the end. */
export interface Page<T> extends List<T> {
  has_more: boolean
  next_cursor: string | null
}
export const Page = <T extends TSchema>(item: T) =>
  Type.Object({
    ...List(item).properties,
    has_more: Type.Boolean(),
    next_cursor: nullable(Type.String()),
  })

/** Of prompts of recent calls that were long enough for a prompt cache. */
export const CacheFigures = {
  /** Share of their tokens that was read from it, 0 to 1; null while unknown. */
  cache_hit_rate: nullable(Type.Number()),
  /** What such a prompt cost with its reads and writes, USD per million tokens; null while unknown. */
  effective_prompt: nullable(Type.String()),
}
