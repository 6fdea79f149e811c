import { type Static, Type } from 'typebox'
import { nullable } from './request-fields.ts'
import { IsoTime, List } from './shared.ts'

const REFUSAL = {
  /** Null: the request named no key, or one that does not exist. */
  key_id: nullable(Type.String()),
  key_name: nullable(Type.String()),
  /** The error that the requests were answered with, and its status. */
  code: Type.String(),
  status: Type.Number(),
  requests: Type.Number(),
  /** The requests from each of `starts` on. */
  over_time: Type.Array(Type.Number()),
  last_at: IsoTime,
}

/**
 * GET /console/api/usage/refusals?from&to&time_zone: most requests first. POST requests of the
 * account's keys under /v1 and /v2 that were refused before a call was admitted, counted by hour; a hundred rows at most.
 */
export const RefusalView = Type.Object(REFUSAL)
export type RefusalView = Static<typeof RefusalView>

/** GET /admin/api/refusals?account&from&to: the same of all accounts or one. */
export const OperatorRefusalView = Type.Object({
  /** Null: the key is not known. */
  account_id: nullable(Type.String()),
  account_name: nullable(Type.String()),
  ...REFUSAL,
})
export type OperatorRefusalView = Static<typeof OperatorRefusalView>

/** `starts`: of the days of the period, or of the hours of one or two days. */
const refusals = <View extends typeof RefusalView>(view: View) =>
  Type.Object({ ...List(view).properties, starts: Type.Array(IsoTime) })
export const RefusalsView = refusals(RefusalView)
export type RefusalsView = Static<typeof RefusalsView>
export const OperatorRefusalsView = refusals(OperatorRefusalView)
export type OperatorRefusalsView = Static<typeof OperatorRefusalsView>
