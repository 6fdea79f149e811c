import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type {
  CreatedWebhook,
  DeliveryView,
  RotatedSecret,
  TestedWebhook,
  WebhookList,
  WebhookView,
} from '../../core/api/webhooks.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { EVENT_TYPES, type SubscribedEventType } from '../../core/operations/event.ts'
import { checkWebhookUrl } from '../../platform/network/webhook-url.ts'
import type { DeliveryEntry } from '../../webhooks/delivery-log.ts'
import { ENDPOINTS_PER_ACCOUNT_MAX, type WebhookEndpoint } from '../../webhooks/endpoint-store.ts'
import { signedIn } from '../plugins/session.ts'
import { timeOrNull } from './account-view.ts'
import type { ConsoleDependencies } from './console-routes.ts'
import { type Fields, readFields, readString } from './read-body.ts'
import { tooMany } from './too-many.ts'

const URL_LENGTH_MAX = 2_048
/** A rotated secret goes on signing beside the new one for a day. */
const ROTATION_OVERLAP_MS = 86_400_000
const DELIVERIES_SHOWN = 50

type OfId = { Params: { id: string } }

/** Where the account hears of its events: endpoints, their secrets (shown once), what was delivered. */
export const webhookRoutes: FastifyPluginAsync<ConsoleDependencies> = async (app, deps) => {
  const { endpoints, deliveries, retryDelivery, settings, webhookThrottle } = deps.console
  const ofSession = { onRequest: [app.requireSession] }

  /** An endpoint of the account that is signed in. Throws ApiError `not_found` for any other. */
  const own = async (request: FastifyRequest<OfId>): Promise<WebhookEndpoint> => {
    const all = await endpoints.list(signedIn(request).account.id)
    const found = all.find(({ id }) => id === request.params.id)
    if (!found) throw unknownEndpoint()
    return found
  }

  app.get('/webhooks', ofSession, async (request): Promise<WebhookList> => {
    const found = await endpoints.list(signedIn(request).account.id)
    return { data: found.map(endpointView), event_types: [...EVENT_TYPES], max: ENDPOINTS_PER_ACCOUNT_MAX }
  })

  app.post('/webhooks', ofSession, async (request, reply) => {
    const accountId = signedIn(request).account.id
    const fields = readFields(request.body, ['url', 'event_types'])
    const check = checkWebhookUrl(readString(fields, 'url', 1, URL_LENGTH_MAX), settings.webhooksAllowPrivate)
    if (check.kind === 'refused')
      throw new ApiError('invalid_request', `This address ${check.reason}.`, { param: 'url' })
    const types = readEventTypes(fields)
    const existing = await endpoints.list(accountId)
    if (existing.length >= ENDPOINTS_PER_ACCOUNT_MAX)
      throw new ApiError('invalid_request', `An account has ${ENDPOINTS_PER_ACCOUNT_MAX} endpoints at most.`)
    const created = await endpoints.create(accountId, check.url.href, types)
    return reply.code(201).send({
      secret: created.secret,
      webhook: endpointView(created.endpoint),
    } satisfies CreatedWebhook)
  })

  app.delete<OfId>('/webhooks/:id', ofSession, async (request, reply) => {
    const { id } = await own(request)
    await endpoints.remove(id)
    return reply.code(204).send()
  })

  app.post<OfId>('/webhooks/:id/rotate-secret', ofSession, async (request): Promise<RotatedSecret> => {
    const { id } = await own(request)
    const secret = await endpoints.rotateSecret(id, ROTATION_OVERLAP_MS)
    if (secret === null) throw unknownEndpoint()
    return {
      secret,
      old_secret_signs_until: new Date(deps.clock() + ROTATION_OVERLAP_MS).toISOString(),
    }
  })

  app.post<OfId>('/webhooks/:id/enable', ofSession, async (request): Promise<WebhookView> => {
    const { id } = await own(request)
    const enabled = await endpoints.enable(id)
    if (!enabled) throw unknownEndpoint()
    return endpointView(enabled)
  })

  app.post<OfId>('/webhooks/:id/test', ofSession, async (request, reply) => {
    const { id, accountId } = await own(request)
    const throttled = await webhookThrottle.test(accountId)
    if (throttled.kind === 'too_many') throw tooMany(throttled)
    const eventId = await endpoints.test(id)
    if (eventId === null) throw unknownEndpoint()
    return reply.code(202).send({ event_id: eventId } satisfies TestedWebhook)
  })

  app.post<OfId>('/webhook-deliveries/:id/retry', ofSession, async (request, reply) => {
    const accountId = signedIn(request).account.id
    const throttled = await webhookThrottle.retry(accountId)
    if (throttled.kind === 'too_many') throw tooMany(throttled)
    const delivery = await retryDelivery(request.params.id, accountId)
    if (!delivery)
      throw new ApiError(
        'not_found',
        'There is no failed delivery of that id to an endpoint that is enabled.',
      )
    return reply.code(202).send(deliveryView(delivery))
  })

  app.get<OfId>('/webhooks/:id/deliveries', ofSession, async (request) => {
    const { id } = await own(request)
    const found = await deliveries({ endpointId: id, limit: DELIVERIES_SHOWN })
    return { data: found.map(deliveryView) }
  })
}

function readEventTypes({ event_types: given = [] }: Fields): SubscribedEventType[] {
  const types = Array.isArray(given)
    ? given.map((name) => EVENT_TYPES.find((known) => known === name))
    : [undefined]
  const known = types.filter((type) => type !== undefined)
  if (known.length < types.length)
    throw new ApiError('invalid_request', `\`event_types\` is a list of ${EVENT_TYPES.join(', ')}.`, {
      param: 'event_types',
    })
  return [...new Set(known)]
}

const unknownEndpoint = (): ApiError =>
  new ApiError('not_found', 'This account has no webhook endpoint of that id.')

export const endpointView = (endpoint: WebhookEndpoint): WebhookView => ({
  id: endpoint.id,
  url: endpoint.url,
  event_types: endpoint.eventTypes,
  enabled: endpoint.enabled,
  disabled_reason: endpoint.disabledReason,
  failing_since: timeOrNull(endpoint.failingSince),
  created_at: endpoint.createdAt.toISOString(),
})

export const deliveryView = (delivery: DeliveryEntry): DeliveryView => ({
  id: delivery.id,
  event_id: delivery.eventId,
  type: delivery.type,
  state: delivery.state,
  attempts: delivery.attempts,
  next_attempt_at: timeOrNull(delivery.nextAttemptAt),
  created_at: delivery.createdAt.toISOString(),
})
