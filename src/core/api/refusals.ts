import { type Static, Type } from 'typebox'
import { nullable } from './request-fields.ts'
import { IsoTime } from './shared.ts'

const REFUSAL = {
  /** Null: the request named no key, or one that does not exist. */
  key_id: nullable(Type.String()),
  key_name: nullable(Type.String()),
  /** The error that the requests were answered with, and its status. */
  code: Type.String(),
  status: Type.Number(),
  requests: Type.Number(),
  last_at: IsoTime,
}

/**
 * GET /console/api/usage/refusals?from&to&time_zone: `List<RefusalView>`, most requests first. POST requests of the
 * account's keys under /v1 and /v2 that were refused before a call was admitted, counted by hour; a hundred rows at most.
 */
export const RefusalView = Type.Object(REFUSAL)
export type RefusalView = Static<typeof RefusalView>

/** GET /admin/api/refusals?account&from&to: `List<OperatorRefusalView>`, the same of all accounts or one. */
export const OperatorRefusalView = Type.Object({
  /** Null: the key is not known. */
  account_id: nullable(Type.String()),
  account_name: nullable(Type.String()),
  ...REFUSAL,
})
export type OperatorRefusalView = Static<typeof OperatorRefusalView>
