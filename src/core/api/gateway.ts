import { type Static, Type } from 'typebox'

/** GET /console/api/gateway → 200, also without a session: what the console says of this gateway on every page. */
export const GatewayView = Type.Object({
  /** Simulated providers make completions up: `mixed` for models without a provider only. */
  answers: Type.Enum(['real', 'simulated', 'mixed']),
  /** Whether it sends mail. `folder`: to a folder of the operator's, as under `npm start`. */
  mail: Type.Enum(['none', 'folder', 'smtp']),
  /** Other services that sign in. */
  providers: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
  /** Whether anybody may see the status of the providers of models. */
  provider_status: Type.Boolean(),
})
export type GatewayView = Static<typeof GatewayView>
