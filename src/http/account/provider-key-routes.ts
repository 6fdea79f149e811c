import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { ProviderKey } from '../../accounts/provider-key-store.ts'
import { NewProviderKeyBody, ProviderKeyChanges } from '../../core/accounts/provider-key-request.ts'
import type { ProviderKeyList, ProviderKeyView } from '../../core/api/provider-keys.ts'
import type { CatalogSnapshot } from '../../core/catalog/catalog.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import { takesOwnKeys } from '../../core/routing/byok.ts'
import { OfId } from '../of-id.ts'
import { signedIn } from '../plugins/session.ts'
import { providerKeyView } from '../provider-key-view.ts'
import { storeProviderKey } from '../store-provider-key.ts'
import type { ConsoleDependencies } from './console-routes.ts'

/** The account's own keys at providers; of a secret, nobody sees more than its end again. */
export const providerKeyRoutes: FastifyPluginAsyncTypebox<ConsoleDependencies> = async (app, deps) => {
  const { providerKeys, catalog } = deps
  const ofSession = { onRequest: [app.requireSession] }

  const viewOf = (key: ProviderKey): ProviderKeyView => consoleView(key, providersOf(catalog()))

  app.get('/provider-keys', ofSession, async (request): Promise<ProviderKeyList> => {
    const found = await providerKeys.list(signedIn(request).account.id)
    const providers = providersOf(catalog())
    return {
      data: found.map((key) => consoleView(key, providers)),
      providers: [...providers].map(([id, name]) => ({ id, name })),
      fee_percent: String(deps.console.settings.byokFeePercent),
    }
  })

  app.post(
    '/provider-keys',
    { ...ofSession, schema: { body: NewProviderKeyBody } },
    async (request, reply) => {
      const { provider: providerId, key: secret, name = '', allow_fallback = false } = request.body
      const provider = [...catalog().offers.values()].find(
        (offer) => offer.provider.id === providerId,
      )?.provider
      if (!provider || !takesOwnKeys(provider))
        throw new ApiError('invalid_request', 'No provider of that name takes keys here.', {
          param: 'provider',
        })
      const accountId = signedIn(request).account.id
      const settings = { providerId, secret, name, allowFallback: allow_fallback }
      const created = await storeProviderKey(accountId, settings, provider, deps)
      return reply.code(201).send(viewOf(created))
    },
  )

  const changing = { ...ofSession, schema: { params: OfId, body: ProviderKeyChanges } }
  app.patch('/provider-keys/:id', changing, async (request) => {
    const { name, disabled, allow_fallback: allowFallback } = request.body
    const changed = await providerKeys.update(signedIn(request).account.id, request.params.id, {
      ...(name !== undefined && { name }),
      ...(allowFallback !== undefined && { allowFallback }),
      ...(disabled !== undefined && { disabled }),
    })
    if (!changed) throw unknownKey()
    return viewOf(changed)
  })

  app.delete('/provider-keys/:id', { ...ofSession, schema: { params: OfId } }, async (request, reply) => {
    const { account } = signedIn(request)
    const removed = await providerKeys.remove(request.params.id, account.id)
    if (!removed) throw unknownKey()
    return reply.code(204).send()
  })
}

const unknownKey = () => new ApiError('not_found', 'This account has no provider key of that id.')

/** The providers of the catalog that clients may bring keys for: names by ids, in the order of the names. */
function providersOf(catalog: CatalogSnapshot): Map<string, string> {
  const names = new Map<string, string>()
  for (const { provider } of catalog.offers.values())
    if (takesOwnKeys(provider)) names.set(provider.id, provider.name)
  return new Map([...names].sort(([, one], [, other]) => one.localeCompare(other)))
}

/** What a provider refused a key with, in words. */
const REFUSALS: Record<string, string> = {
  unauthorized: 'The provider does not accept this key.',
  payment_required: 'The provider asks for payment.',
  forbidden: 'The provider does not permit this key to do what was asked.',
}

function consoleView(key: ProviderKey, providers: ReadonlyMap<string, string>): ProviderKeyView {
  const { id, provider, name, last4, allow_fallback, status, last_error, last_error_at, created_at } =
    providerKeyView(key)
  return {
    id,
    provider,
    provider_name: providers.get(provider) ?? provider,
    name,
    last4,
    allow_fallback,
    status,
    last_error: last_error === null ? null : (REFUSALS[last_error] ?? 'The provider refused this key.'),
    last_error_at,
    created_at,
  }
}
