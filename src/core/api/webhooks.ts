import { type Static, Type } from 'typebox'
import { CLOSED, line, nullable } from './request-fields.ts'

export const WebhookView = Type.Object({
  id: Type.String(),
  url: Type.String(),
  /** Empty: every type. */
  event_types: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  disabled_reason: nullable(Type.String()),
  failing_since: nullable(Type.String()),
  created_at: Type.String(),
})
export type WebhookView = Static<typeof WebhookView>

/** GET /console/api/webhooks */
export const WebhookList = Type.Object({
  data: Type.Array(WebhookView),
  /** Every type that an endpoint can subscribe to. */
  event_types: Type.Array(Type.String()),
  max: Type.Number(),
})
export type WebhookList = Static<typeof WebhookList>

/** POST /console/api/webhooks → 201 CreatedWebhook; DELETE /console/api/webhooks/:id → 204. */
export const NewWebhookBody = Type.Object(
  {
    url: line('url', 1, 2_048),
    /** The route validates the types. */
    event_types: Type.Optional(Type.Unsafe<string[]>({})),
  },
  CLOSED,
)
export type NewWebhookBody = Static<typeof NewWebhookBody>

/** The signing secret, returned only once. */
export const CreatedWebhook = Type.Object({
  secret: Type.String(),
  webhook: WebhookView,
})
export type CreatedWebhook = Static<typeof CreatedWebhook>

/** POST /console/api/webhooks/:id/rotate-secret → 200. */
export const RotatedSecret = Type.Object({
  secret: Type.String(),
  old_secret_signs_until: Type.String(),
})
export type RotatedSecret = Static<typeof RotatedSecret>

/**
 * POST /console/api/webhooks/:id/enable → 200 WebhookView; POST /console/api/webhooks/:id/test → 202
 * `{event_id}`: look at its delivery. GET /console/api/webhooks/:id/deliveries → {data: DeliveryView[]}, newest
 * first, the latest 50.
 */
export const DeliveryView = Type.Object({
  id: Type.String(),
  event_id: Type.String(),
  type: Type.String(),
  state: Type.Enum(['pending', 'delivered', 'failed']),
  attempts: Type.Array(
    Type.Object({
      at: Type.String(),
      status_code: nullable(Type.Number()),
      error: nullable(Type.String()),
      duration_ms: Type.Number(),
    }),
  ),
  next_attempt_at: nullable(Type.String()),
  created_at: Type.String(),
})
export type DeliveryView = Static<typeof DeliveryView>

/** POST /console/api/webhooks/:id/test → 202; POST /console/api/webhook-deliveries/:id/retry → 202 DeliveryView. */
export const TestedWebhook = Type.Object({
  event_id: Type.String(),
})
export type TestedWebhook = Static<typeof TestedWebhook>
