import { type Static, Type } from 'typebox'
import { nullable } from './nullable.ts'

export const ProviderKeyView = Type.Object({
  id: Type.String(),
  provider: Type.String(),
  provider_name: Type.String(),
  name: Type.String(),
  last4: Type.String(),
  /** Whether calls go on to shared capacity (at listed rates) when this key fails. */
  allow_fallback: Type.Boolean(),
  /** `unchecked`: it is not known whether its provider takes it. `refused`: the last time it did not. */
  status: Type.Enum(['active', 'unchecked', 'refused', 'failing', 'disabled']),
  /** What the provider last refused this key with, in our words; null while it works. */
  last_error: nullable(Type.String()),
  last_error_at: nullable(Type.String()),
  created_at: Type.String(),
})
export type ProviderKeyView = Static<typeof ProviderKeyView>

/** GET /console/api/provider-keys */
export const ProviderKeyList = Type.Object({
  data: Type.Array(ProviderKeyView),
  /** The providers a key can be stored for, by name. */
  providers: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
    }),
  ),
  /** The routing fee on calls with an own key, percent of the listed cost: "5". */
  fee_percent: Type.String(),
})
export type ProviderKeyList = Static<typeof ProviderKeyList>

/** POST /console/api/provider-keys → 201 ProviderKeyView. The key is never shown again. */
export const NewProviderKeyBody = Type.Object({
  provider: Type.String(),
  key: Type.String(),
  name: Type.Optional(Type.String()),
  allow_fallback: Type.Optional(Type.Boolean()),
})
export type NewProviderKeyBody = Static<typeof NewProviderKeyBody>

/** PATCH /console/api/provider-keys/:id → 200 ProviderKeyView. DELETE /console/api/provider-keys/:id → 204. */
export const ProviderKeyPatch = Type.Object({
  name: Type.Optional(Type.String()),
  allow_fallback: Type.Optional(Type.Boolean()),
  disabled: Type.Optional(Type.Boolean()),
})
export type ProviderKeyPatch = Static<typeof ProviderKeyPatch>
