import { type Static, Type } from 'typebox'
import { List } from './shared.ts'

/**
 * POST /console/api/playground/SURFACE?key_id=KEY: makes a call of that surface with one of the account's keys. Body
 * and response are those of the surface; the header `x-call-id` names the call, for GET /console/api/calls/:id. Abort
 * the request to stop it.
 */

/** GET /console/api/playground/surfaces?key_id=KEY. */
export const PlaygroundSurfaces = List(
  Type.Object({
    id: Type.String(),
    /** Its path in the API. */
    path: Type.String(),
    /** Whether the key may use it. */
    available: Type.Boolean(),
  }),
)
export type PlaygroundSurfaces = Static<typeof PlaygroundSurfaces>
