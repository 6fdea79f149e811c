import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { PlatformKeyRemoved, PlatformKeyRequest, PlatformKeyStored } from '../../core/api/offers.ts'
import type { CatalogSnapshot, Provider } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { OfId } from '../page.ts'
import { askingOperator, needs } from '../plugins/operator-access.ts'

const BODY_LIMIT_BYTES = 16 * 1024

/** The gateway's own keys at providers: store and remove; they are never returned. */
export const platformKeyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { snapshot: catalog, platformKeys } = app.catalog
  app.post(
    '/providers/:id/key',
    {
      ...needs('provider-keys.write'),
      bodyLimit: BODY_LIMIT_BYTES,
      schema: { params: OfId, body: PlatformKeyRequest, response: { 200: PlatformKeyStored } },
    },
    async (request) => {
      const provider = findProvider(catalog(), request.params.id)
      const stored = await platformKeys.store(askingOperator(request), provider, request.body.key)
      return { object: 'platform_key' as const, provider: provider.id, ...stored }
    },
  )

  app.post(
    '/providers/:id/key/remove',
    {
      ...needs('provider-keys.write'),
      schema: { params: OfId, response: { 200: PlatformKeyRemoved } },
    },
    async (request) => {
      const { id } = request.params
      const removed = await platformKeys.remove(askingOperator(request), id)
      return { object: 'platform_key' as const, provider: id, ...removed }
    },
  )
}

function findProvider({ offers }: CatalogSnapshot, id: string): Provider {
  for (const { provider } of offers.values()) if (provider.id === id) return provider
  throw new ApiError('not_found', 'There is no provider with this id.')
}
