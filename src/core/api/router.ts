import { type Static, Type } from 'typebox'
import { nullable } from './request-fields.ts'
import { DecimalUsd } from './shared.ts'

/** A share of 0 to 1. */
const Share = Type.Number()

/** Calls of `auto` that one model served at one kind of task, and what is expected of it there at medium difficulty. */
export const RouterChoiceView = Type.Object({
  model: Type.String(),
  kind: Type.String(),
  calls: Type.Number(),
  /** Of the calls of this kind. */
  share: Share,
  spend_usd: DecimalUsd,
  /** Null: the catalog has the model no more. */
  quality: nullable(Share),
  standard_error: nullable(Share),
  /** What the quality is known from, such as `measured` or `price`. */
  basis: nullable(Type.String()),
  /** How many of the calls their accounts judged, and the mean; null: none. */
  feedback: Type.Number(),
  satisfaction: nullable(Share),
})
export type RouterChoiceView = Static<typeof RouterChoiceView>

/** GET /admin/api/router */
export const RouterView = Type.Object({
  object: Type.Literal('router'),
  /** `choices` are those among so many of the gateway's latest calls. */
  latest_calls: Type.Number(),
  choices: Type.Array(RouterChoiceView),
})
export type RouterView = Static<typeof RouterView>
