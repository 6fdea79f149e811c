import { type Static, Type } from 'typebox'
import { nullable } from './request-fields.ts'
import { DecimalUsd, IsoTime } from './shared.ts'

/** A share of 0 to 1. */
const Share = Type.Number()

/** What a version expects of a model at one kind of task of medium difficulty, and what was expected before. */
export const RouterQualityView = Type.Object({
  model: Type.String(),
  kind: Type.String(),
  /** That it is learned from, each with its weight. */
  outcomes: Type.Number(),
  before: Share,
  after: Share,
})
export type RouterQualityView = Static<typeof RouterQualityView>

/** One learned version of the router. */
export const RouterVersionView = Type.Object({
  version: Type.String(),
  author: Type.String(),
  created_at: IsoTime,
  /** When it was last installed; null: never, or it was rolled back. */
  installed_at: nullable(IsoTime),
  /** It applies now. */
  is_installed: Type.Boolean(),
  feedback: Type.Number(),
  pairs: Type.Number(),
  accounts: Type.Number(),
  /** Whether its ranking by difficulty is used too; null: too few pairs. */
  ranking: nullable(Type.Boolean()),
  /** The largest changes of quality first. */
  changes: Type.Array(RouterQualityView),
})
export type RouterVersionView = Static<typeof RouterVersionView>

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
})
export type RouterChoiceView = Static<typeof RouterChoiceView>

/** GET /admin/api/router; also the response of POST /admin/api/router/install and /rollback. */
export const RouterView = Type.Object({
  object: Type.Literal('router'),
  /** The version that applies; null: the shipped router. */
  installed: nullable(Type.String()),
  /** What a version would be learned from now. */
  outcomes: Type.Object({ feedback: Type.Number(), pairs: Type.Number() }),
  /** With fewer pairs a version leaves the ranking by difficulty as it is. */
  least_pairs: Type.Number(),
  /** `choices` are those among so many of the gateway's latest calls. */
  latest_calls: Type.Number(),
  choices: Type.Array(RouterChoiceView),
  /** Newest first. */
  versions: Type.Array(RouterVersionView),
})
export type RouterView = Static<typeof RouterView>
