import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { MAIN_KEY } from '../../catalog/platform-keys.ts'
import {
  PlatformKeyRemoved,
  PlatformKeyRequest,
  PlatformKeyStored,
  PoolKeyChange,
  PoolKeyRequest,
} from '../../core/api/offers.ts'
import type { CatalogSnapshot, Provider } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { OfId } from '../page.ts'
import { askingOperator, needs } from '../plugins/operator-access.ts'

const BODY_LIMIT_BYTES = 16 * 1024

const OfKey = Type.Object({ ...OfId.properties, key: Type.String() })

/** The gateway's own keys at providers: store, change and remove; they are never returned. */
export const platformKeyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { snapshot: catalog, platformKeys } = app.catalog
  const changes = needs('provider-keys.write')
  const stores = { ...changes, bodyLimit: BODY_LIMIT_BYTES }
  const stored = { 200: PlatformKeyStored }
  const changed = { 200: PlatformKeyRemoved }

  app.post(
    '/providers/:id/key',
    { ...stores, schema: { params: OfId, body: PlatformKeyRequest, response: stored } },
    async (request) => {
      const provider = findProvider(catalog(), request.params.id)
      const { key, ...settings } = request.body
      const target = { id: MAIN_KEY, settings: settingsOf(settings) }
      const result = await platformKeys.store(askingOperator(request), provider, key, target)
      return { object: 'platform_key' as const, provider: provider.id, ...result }
    },
  )

  app.post(
    '/providers/:id/keys',
    { ...stores, schema: { params: OfId, body: PoolKeyRequest, response: stored } },
    async (request) => {
      const provider = findProvider(catalog(), request.params.id)
      const { key, in_place_of: inPlaceOf, ...settings } = request.body
      const target = { id: null, inPlaceOf, settings: settingsOf(settings) }
      const result = await platformKeys.store(askingOperator(request), provider, key, target)
      return { object: 'platform_key' as const, provider: provider.id, ...result }
    },
  )

  app.patch(
    '/providers/:id/keys/:key',
    { ...changes, schema: { params: OfKey, body: PoolKeyChange, response: changed } },
    async (request) => {
      const { id, key } = request.params
      const provider = findProvider(catalog(), id)
      const { state, ...settings } = request.body
      const result = await platformKeys.change(askingOperator(request), provider, key, {
        ...settingsOf(settings),
        ...(state && { state }),
      })
      return { object: 'platform_key' as const, provider: id, ...result }
    },
  )

  const remove = { ...changes, schema: { params: OfId, response: changed } }
  app.post('/providers/:id/key/remove', remove, async (request) => {
    const { id } = request.params
    const result = await platformKeys.remove(askingOperator(request), id, MAIN_KEY)
    return { object: 'platform_key' as const, provider: id, ...result }
  })

  app.post(
    '/providers/:id/keys/:key/remove',
    { ...changes, schema: { params: OfKey, response: changed } },
    async (request) => {
      const { id, key } = request.params
      const result = await platformKeys.remove(askingOperator(request), id, key)
      return { object: 'platform_key' as const, provider: id, ...result }
    },
  )
}

const settingsOf = ({
  name,
  weight,
  requests_per_minute: requestsPerMinute,
  tokens_per_minute: tokensPerMinute,
  usd_per_day: usdPerDay,
  usd_per_month: usdPerMonth,
}: Omit<Static<typeof PoolKeyChange>, 'state'>) => ({
  ...(name !== undefined && { name }),
  ...(weight !== undefined && { weight }),
  ...(requestsPerMinute !== undefined && { requestsPerMinute }),
  ...(tokensPerMinute !== undefined && { tokensPerMinute }),
  ...(usdPerDay !== undefined && { usdPerDay }),
  ...(usdPerMonth !== undefined && { usdPerMonth }),
})

function findProvider({ offers }: CatalogSnapshot, id: string): Provider {
  for (const { provider } of offers.values()) if (provider.id === id) return provider
  throw new ApiError('not_found', 'There is no provider with this id.')
}
