import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { ProviderKeyStore } from '../../accounts/provider-key-store.ts'
import type { ProviderKeyChecker } from '../../catalog/check-provider-key.ts'
import { NewProviderKeyBody, ProviderKeyChanges } from '../../core/accounts/provider-key-request.ts'
import { ProviderKeyBody, ProviderKeyDeleted, ProviderKeyPage } from '../../core/api/public-api.ts'
import type { CatalogSnapshot, Provider } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { takesOwnKeys } from '../../core/routing/byok.ts'
import { askingKey } from '../asking-account.ts'
import { OfId } from '../of-id.ts'
import type { StandardKey } from '../plugins/authenticate.ts'
import { providerKeyView } from '../provider-key-view.ts'
import { createSlots } from '../slots.ts'
import { storeProviderKey } from '../store-provider-key.ts'

interface Dependencies {
  providerKeys: ProviderKeyStore
  keyChecker: ProviderKeyChecker
  catalog: () => CatalogSnapshot
}

const RUNNING_MAX = 100
const RUNNING_PER_KEY_MAX = 10
const BODY_LIMIT_BYTES = 16 * 1024

/** GET and POST /v1/provider-keys: an account's own keys at providers, without their secrets. */
export const providerKeysRoute =
  (path: string): FastifyPluginAsyncTypebox<Dependencies> =>
  async (app, { providerKeys, keyChecker, catalog }) => {
    const slots = createSlots({
      max: RUNNING_MAX,
      maxPerHolder: RUNNING_PER_KEY_MAX,
      holderIsFull: 'This key has requests for provider keys running. Wait for one to end.',
      allTaken: 'Too many requests for provider keys at once. Retry shortly.',
    })

    const listing = { summary: "The account's own keys at providers", response: { 200: ProviderKeyPage } }
    app.get(path, { onRequest: [app.requireKey], schema: listing }, async (request, reply) => {
      const key = owningKey(request)
      const found = await slots.run(key.keyId, () => providerKeys.list(key.accountId))
      reply.header('cache-control', 'no-store')
      return {
        object: 'list' as const,
        data: found.map(providerKeyView),
        providers: [...providersTaking(catalog()).keys()],
      }
    })

    const adding = {
      onRequest: [app.requireKey],
      preValidation: refuseAdminKey,
      bodyLimit: BODY_LIMIT_BYTES,
      schema: {
        summary: 'Store a key at a provider',
        body: NewProviderKeyBody,
        response: { 201: ProviderKeyBody },
      },
    }
    app.post(path, adding, async (request, reply) => {
      const key = owningKey(request)
      const {
        provider: providerId,
        key: secret,
        name = '',
        allow_fallback: allowFallback = false,
      } = request.body
      const provider = providersTaking(catalog()).get(providerId)
      if (!provider) {
        throw new ApiError(
          'invalid_request',
          `\`provider\` names no provider that takes keys. GET ${path} lists them under \`providers\`.`,
          { param: 'provider' },
        )
      }
      const settings = { providerId, secret, name, allowFallback }
      const created = await slots.run(key.keyId, () =>
        storeProviderKey(key.accountId, settings, provider, { providerKeys, keyChecker }),
      )
      return reply.code(201).header('cache-control', 'no-store').send(providerKeyView(created))
    })
  }

/** PATCH and DELETE /v1/provider-keys/{id}. */
export const providerKeyRoute =
  (path: string): FastifyPluginAsyncTypebox<Dependencies> =>
  async (app, { providerKeys }) => {
    const slots = createSlots({
      max: RUNNING_MAX,
      maxPerHolder: RUNNING_PER_KEY_MAX,
      holderIsFull: 'This key has requests for provider keys running. Wait for one to end.',
      allTaken: 'Too many requests for provider keys at once. Retry shortly.',
    })
    const options = { onRequest: [app.requireKey], bodyLimit: BODY_LIMIT_BYTES }

    const changing = {
      ...options,
      preValidation: refuseAdminKey,
      schema: {
        summary: 'Change a provider key',
        params: OfId,
        body: ProviderKeyChanges,
        response: { 200: ProviderKeyBody },
      },
    }
    app.patch(path, changing, async (request, reply) => {
      const key = owningKey(request)
      const { name, disabled, allow_fallback: allowFallback } = request.body
      const changed = await slots.run(key.keyId, () =>
        providerKeys.update(key.accountId, request.params.id, {
          ...(name !== undefined && { name }),
          ...(allowFallback !== undefined && { allowFallback }),
          ...(disabled !== undefined && { disabled }),
        }),
      )
      if (changed === null) throw unknownKey()
      reply.header('cache-control', 'no-store')
      return providerKeyView(changed)
    })

    const deleting = { summary: 'Delete a provider key', params: OfId, response: { 200: ProviderKeyDeleted } }
    app.delete(path, { ...options, schema: deleting }, async (request, reply) => {
      const key = owningKey(request)
      const { id } = request.params
      const removed = await slots.run(key.keyId, () => providerKeys.remove(id, key.accountId))
      if (removed === null) throw unknownKey()
      reply.header('cache-control', 'no-store')
      return { id, object: 'provider_key' as const, deleted: true as const }
    })
  }

/** 403 before the body is looked at. */
const refuseAdminKey = async (request: FastifyRequest) => void owningKey(request)

function owningKey(request: FastifyRequest): StandardKey {
  const key = askingKey(request)
  if (key.kind === 'standard' && key.accountId !== null) return key as StandardKey
  throw new ApiError('not_permitted', 'Admin keys belong to no account. Use a standard key.')
}

const unknownKey = () => new ApiError('not_found', 'This account has no provider key of that id.')

/** The catalog's providers that clients may bring keys for, by id, sorted. */
function providersTaking(catalog: CatalogSnapshot): Map<string, Provider> {
  const found = new Map<string, Provider>()
  for (const { provider } of catalog.offers.values())
    if (takesOwnKeys(provider)) found.set(provider.id, provider)
  return new Map([...found].sort(([one], [other]) => (one < other ? -1 : 1)))
}
