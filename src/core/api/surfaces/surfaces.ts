import { type Static, Type } from 'typebox'
import { CLOSED, nullable } from '../request-fields.ts'
import { IsoTime, List } from '../shared.ts'
import { SURFACE_STATUSES } from './surface-registry.ts'

/** The public description of a surface. */
export const PublishedSurface = Type.Object({
  id: Type.String(),
  object: Type.Literal('surface'),
  method: Type.String(),
  path: Type.String(),
  /** `Stable` only with passing evidence for the current contract. */
  status: Type.Enum([...SURFACE_STATUSES]),
  behaviour: Type.String(),
  /** JSON pointer to its description in /openapi.json; null: it has no route. */
  schema: nullable(Type.String()),
  /** Digest of method, path and schemas, which evidence must match; null: it has no route. */
  contract: nullable(Type.String()),
  deprecation: nullable(Type.String()),
  sunset: nullable(Type.String()),
  /** The latest result of the release gate; null: it was not checked. */
  evidence: nullable(Type.Object({ date: IsoTime, commit: Type.String(), passed: Type.Boolean() })),
})
export type PublishedSurface = Static<typeof PublishedSurface>

/** GET /surfaces.json. */
export const PublishedSurfaceList = List(PublishedSurface)
export type PublishedSurfaceList = Static<typeof PublishedSurfaceList>

/** GET /v1/surfaces. */
export const SurfaceList = List(
  Type.Object({
    ...PublishedSurface.properties,
    /** Whether the calling key may use it. */
    available: Type.Boolean(),
  }),
)
export type SurfaceList = Static<typeof SurfaceList>

/** A grant of a surface to an account or to one key. */
export const SurfaceGrant = Type.Object({
  id: Type.String(),
  surface: Type.String(),
  account_id: nullable(Type.String()),
  key_id: nullable(Type.String()),
  created_at: IsoTime,
})
export type SurfaceGrant = Static<typeof SurfaceGrant>

/**
 * GET /admin/api/accounts/:id/surfaces: `List<OpenableSurface>`. A surface that operators can grant, and its grants
 * within the account.
 */
export const OpenableSurface = Type.Object({
  id: Type.String(),
  method: Type.String(),
  path: Type.String(),
  behaviour: Type.String(),
  /** Grants of the account, of its keys and of every account (both ids are null), oldest first. */
  grants: Type.Array(
    Type.Object({
      ...SurfaceGrant.properties,
      /** The admin key's id, or the operator's account; null if unknown. */
      opened_by: nullable(Type.String()),
    }),
  ),
})
export type OpenableSurface = Static<typeof OpenableSurface>

/** POST /admin/api/surfaces/:id/open and /close: names the account, by id or email, the key, or every account. */
export const SurfaceHolderRequest = Type.Object(
  {
    account: Type.Optional(Type.String()),
    key_id: Type.Optional(Type.String()),
    every_account: Type.Optional(Type.Literal(true)),
  },
  CLOSED,
)
export type SurfaceHolderRequest = Static<typeof SurfaceHolderRequest>
