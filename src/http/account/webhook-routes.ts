import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { jsonView } from '../../core/api/json-view.ts'
import {
  CreatedWebhook,
  DeliveryView,
  NewWebhookBody,
  RotatedSecret,
  TestedWebhook,
  WebhookList,
  WebhookView,
} from '../../core/api/webhooks.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { DAY_MS, isoTime } from '../../core/kernel/time.ts'
import { EVENT_TYPES, type SubscribedEventType } from '../../core/webhooks/event.ts'
import { checkWebhookUrl } from '../../platform/network/public-address.ts'
import type { DeliveryEntry } from '../../webhooks/delivery-log.ts'
import { ENDPOINTS_PER_ACCOUNT_MAX, type WebhookEndpoint } from '../../webhooks/endpoint-store.ts'
import { OfId } from '../page.ts'
import { actingOn } from '../plugins/session.ts'

/** A rotated secret also signs for a day. */
export const ROTATION_OVERLAP_MS = DAY_MS
export const DELIVERIES_SHOWN = 50

/** The webhooks of an account: endpoints, their secrets (shown once), and deliveries. */
export const webhookRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { endpoints, deliveries, retryDelivery, throttleAccount } = app.accounts
  const toView = { onRequest: [app.requirePermission('view_integrations')] }
  const toChange = { onRequest: [app.requirePermission('integrations')] }
  const ofEndpoint = { ...toChange, schema: { params: OfId } }

  /** An endpoint of the session's account. Throws ApiError `not_found` for any other. */
  const own = async (request: FastifyRequest<{ Params: { id: string } }>): Promise<WebhookEndpoint> => {
    const all = await endpoints.list(actingOn(request).account.id)
    const found = all.find(({ id }) => id === request.params.id)
    if (!found) throw unknownEndpoint()
    return found
  }

  app.get('/webhooks', { ...toView, schema: { response: { 200: WebhookList } } }, async (request) => {
    const found = await endpoints.list(actingOn(request).account.id)
    return { data: found.map(endpointView), event_types: [...EVENT_TYPES], max: ENDPOINTS_PER_ACCOUNT_MAX }
  })

  const creating = { ...toChange, schema: { body: NewWebhookBody, response: { 201: CreatedWebhook } } }
  app.post('/webhooks', creating, async (request, reply) => {
    const accountId = actingOn(request).account.id
    const check = checkWebhookUrl(request.body.url, app.accounts.config.webhooksAllowPrivate)
    if (check.kind === 'refused') throw invalid('url', `This URL ${check.reason}.`)
    const types = readEventTypes(request.body.event_types)
    const existing = await endpoints.list(accountId)
    if (existing.length >= ENDPOINTS_PER_ACCOUNT_MAX)
      throw new ApiError(
        'invalid_request',
        `An account can have at most ${ENDPOINTS_PER_ACCOUNT_MAX} endpoints. Delete one first.`,
      )
    const created = await endpoints.create(accountId, check.url.href, types)
    await app.recordAction(request, 'webhook.added', created.endpoint.id, { url: created.endpoint.url })
    return reply.code(201).send({ secret: created.secret, webhook: endpointView(created.endpoint) })
  })

  app.delete('/webhooks/:id', ofEndpoint, async (request, reply) => {
    const { id, url } = await own(request)
    await endpoints.remove(id)
    await app.recordAction(request, 'webhook.removed', id, { url })
    return reply.code(204).send()
  })

  const rotating = { ...toChange, schema: { params: OfId, response: { 200: RotatedSecret } } }
  app.post('/webhooks/:id/rotate-secret', rotating, async (request) => {
    const { id, url } = await own(request)
    const secret = await endpoints.rotateSecret(id, ROTATION_OVERLAP_MS)
    if (secret === null) throw unknownEndpoint()
    await app.recordAction(request, 'webhook.secret_rotated', id, { url })
    return {
      secret,
      old_secret_signs_until: isoTime(app.accounts.clock() + ROTATION_OVERLAP_MS),
    }
  })

  const enabling = { ...toChange, schema: { params: OfId, response: { 200: WebhookView } } }
  app.post('/webhooks/:id/enable', enabling, async (request) => {
    const { id } = await own(request)
    const enabled = await endpoints.enable(id)
    if (!enabled) throw unknownEndpoint()
    await app.recordAction(request, 'webhook.enabled', id, { url: enabled.url })
    return endpointView(enabled)
  })

  const testing = { ...toChange, schema: { params: OfId, response: { 202: TestedWebhook } } }
  app.post('/webhooks/:id/test', testing, async (request, reply) => {
    const { id, accountId } = await own(request)
    await throttleAccount('webhook-test', accountId)
    const eventId = await endpoints.test(id)
    if (eventId === null) throw unknownEndpoint()
    return reply.code(202).send({ event_id: eventId })
  })

  const retrying = { ...toChange, schema: { params: OfId, response: { 202: DeliveryView } } }
  app.post('/webhook-deliveries/:id/retry', retrying, async (request, reply) => {
    const accountId = actingOn(request).account.id
    await throttleAccount('webhook-retry', accountId)
    const delivery = await retryDelivery(request.params.id, accountId)
    if (!delivery)
      throw new ApiError('not_found', 'There is no failed delivery with this id to an enabled endpoint.')
    return reply.code(202).send(deliveryView(delivery))
  })

  const listing = {
    ...toView,
    schema: { params: OfId, response: { 200: Type.Object({ data: Type.Array(DeliveryView) }) } },
  }
  app.get('/webhooks/:id/deliveries', listing, async (request) => {
    const { id } = await own(request)
    const found = await deliveries({ endpointId: id, limit: DELIVERIES_SHOWN })
    return { data: found.map(deliveryView) }
  })
}

function readEventTypes(given: unknown = []): SubscribedEventType[] {
  const types = Array.isArray(given)
    ? given.map((name) => EVENT_TYPES.find((known) => known === name))
    : [undefined]
  const known = types.filter((type) => type !== undefined)
  if (known.length < types.length)
    throw invalid('event_types', `\`event_types\` must be a list of ${EVENT_TYPES.join(', ')}.`)
  return [...new Set(known)]
}

const unknownEndpoint = (): ApiError =>
  new ApiError('not_found', 'This account has no webhook endpoint with this id.')

export const endpointView = (endpoint: WebhookEndpoint): WebhookView => jsonView(WebhookView, endpoint)

export const deliveryView = (delivery: DeliveryEntry): DeliveryView => jsonView(DeliveryView, delivery)
