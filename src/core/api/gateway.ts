import { type Static, Type } from 'typebox'
import { ReceivedInvitationView } from './organisations.ts'
import { nullable } from './request-fields.ts'
import { SessionView } from './sessions.ts'

/** The settings of this gateway that every page of the console needs, with or without a session. */
export const GatewayView = Type.Object({
  /** Whether completions are simulated; `mixed`: only for models without a provider. */
  answers: Type.Enum(['real', 'simulated', 'mixed']),
  /** Whether mail is sent. `folder`: it is written to a folder of the operator, as under `npm start`. */
  mail: Type.Enum(['none', 'folder', 'smtp']),
  /** Identity providers for sign-in. */
  providers: Type.Array(Type.Object({ id: Type.String(), name: Type.String() })),
  /** The number of models that can be called now, and of their developers. */
  catalog: Type.Object({ models: Type.Integer(), developers: Type.Integer() }),
  /** What a new account usually gets; zero: nothing. */
  free_credit_usd: Type.String(),
  /** Whether the status of model providers is public. */
  provider_status: Type.Boolean(),
})
export type GatewayView = Static<typeof GatewayView>

/** GET /console/api/visitor → 200, always: what every page of the console begins with. */
export const VisitorView = Type.Object({
  /** Null without a session. */
  session: nullable(SessionView),
  gateway: GatewayView,
  /** Those sent to the verified address of the signed-in person. */
  invitations: Type.Array(ReceivedInvitationView),
})
export type VisitorView = Static<typeof VisitorView>

/** GET and PATCH /admin/api/settings: settings that operators can change while the gateway runs. */
export const GatewaySettingsView = Type.Object(
  {
    /** Whether /status is public. */
    provider_status_public: Type.Boolean(),
  },
  { additionalProperties: false },
)
export type GatewaySettingsView = Static<typeof GatewaySettingsView>
