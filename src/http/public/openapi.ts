import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify'
import {
  type DescribedOperation,
  describePayment,
  describeSurface,
} from '../../core/api/reference/describe-surface.ts'
import { codeSamples } from '../../core/api/surfaces/code-samples.ts'
import { SURFACES } from '../../core/api/surfaces/surface-registry.ts'
import { publishedSurface, type SurfaceContracts } from './surface-list.ts'

/** Placeholder for the gateway's URL in the document, which is rendered once; no host has this name. */
const ORIGIN = 'http://gateway.invalid'
const HOST = /^[\w.:[\]-]{1,255}$/

/** GET /openapi.json: the OpenAPI 3.1 document of every route, with examples for the requested host. */
export const openapiRoute =
  (path: string): FastifyPluginAsync =>
  async (app) => {
    const { paidCalls } = app.calls
    const { publicUrl } = app.accounts
    let document: string | undefined
    app.get(path, { schema: { summary: 'This document' } }, async (request, reply) => {
      document ??= JSON.stringify(describedSurfaces(app, app.surfaceContracts, paidCalls !== null))
      return reply
        .headers({ 'cache-control': 'public, max-age=300', 'access-control-allow-origin': '*', vary: 'host' })
        .type('application/json; charset=utf-8')
        .send(document.replaceAll(ORIGIN, publicUrl?.replace(/\/$/, '') ?? askedOrigin(request)))
    })
  }

const askedOrigin = ({ protocol, host }: FastifyRequest): string =>
  HOST.test(host) ? `${protocol}://${host}` : ORIGIN

/** The document with the registry's description of each surface. */
function describedSurfaces(app: FastifyInstance, contracts: SurfaceContracts, isPayable: boolean) {
  const document = app.swagger()
  const paths = document.paths as Record<string, Record<string, DescribedOperation>>
  for (const surface of SURFACES) {
    const operation = paths[surface.path]?.[surface.method.toLowerCase()]
    if (!operation) continue
    const { id, status, behaviour, deprecation } = publishedSurface(surface, contracts)
    Object.assign(operation, {
      operationId: id,
      description: behaviour,
      ...(deprecation !== null && { deprecated: true }),
      'x-status': status,
      'x-codeSamples': codeSamples(surface, ORIGIN),
    })
    describeSurface(operation, surface)
    if (isPayable && id === 'chat-completions') describePayment(operation)
  }
  return { ...document, servers: [{ url: ORIGIN }] }
}
