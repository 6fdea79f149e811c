import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { TSchema } from 'typebox'
import { BYOK_KEYS_PER_ACCOUNT_MAX, type NewByokKey, type StoredByokKey } from '../../byok/byok-key-store.ts'
import {
  ByokKeyBody,
  ByokKeyDeleted,
  ByokKeyList,
  ByokKeyPatch,
  NewByokKeyBody,
  ProviderKeyPage,
} from '../../core/api/byok-keys.ts'
import { jsonView } from '../../core/api/json-view.ts'
import type { CatalogSnapshot, Provider } from '../../core/catalog/catalog.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { byokKeyStatus, takesByokKeys } from '../../core/routing/byok.ts'
import { OfId } from '../page.ts'
import { createSlots } from '../slots.ts'
import { byKey, bySession, type EditorAccess } from './account-access.ts'

type Providers = ReadonlyMap<string, Provider>

const KEY_REFUSAL = 'Admin keys belong to no account. Use a standard key.'
const RUNNING_MAX = 100
const RUNNING_PER_HOLDER_MAX = 10
const BODY_LIMIT_BYTES = 16 * 1024

/** GET and POST /v1/provider-keys, PATCH and DELETE /v1/provider-keys/{id}: an account's BYOK keys at providers. */
export const providerKeysRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) =>
    registerRoutes(app, path, byKey(app, 'provider_keys', KEY_REFUSAL), ProviderKeyPage)

/** The same under /console/api, for the session's account, with what its page shows besides. */
export const consoleByokKeyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const access = bySession(app, 'view_integrations', 'integrations')
  const feePercent = String(app.accounts.limits.byokFeePercent)
  registerRoutes(app, '/provider-keys', access, ByokKeyList, (providers) => ({
    provider_names: Object.fromEntries([...providers.values()].map(({ id, name }) => [id, name])),
    fee_percent: feePercent,
  }))
}

/** The routes return only the last characters of a secret. */
function registerRoutes(
  app: Parameters<FastifyPluginAsyncTypebox>[0],
  path: string,
  { requester, hooks, schema, ...access }: EditorAccess,
  page: TSchema,
  more: (providers: Providers) => object = () => ({}),
): void {
  const { byokKeys, keyChecker, mailByokKeyAdded } = app.accounts
  const { snapshot: catalog } = app.catalog
  const options = { ...hooks, bodyLimit: BODY_LIMIT_BYTES }
  const changingOptions = { ...access.changing, bodyLimit: BODY_LIMIT_BYTES }
  const slots = createSlots({
    max: RUNNING_MAX,
    maxPerHolder: RUNNING_PER_HOLDER_MAX,
    holderIsFull: 'This account has requests for provider keys running. Wait for one to end.',
    allTaken: 'Too many requests for provider keys at once. Retry shortly.',
  })

  const nameOf = ({ providerId }: StoredByokKey): string =>
    providersTakingKeys(catalog()).get(providerId)?.name ?? providerId

  /**
   * Stores a key and tries it once. The key is stored whatever the result, because an outage of its provider does not
   * speak against it.
   */
  const store = async (accountId: string, settings: NewByokKey, provider: Provider) => {
    const created = await byokKeys.create(accountId, settings)
    if (created === null)
      throw new ApiError(
        'invalid_request',
        `An account can have at most ${BYOK_KEYS_PER_ACCOUNT_MAX} provider keys. Delete one first.`,
      )
    const { id } = created
    if (!(await keyChecker.check({ id, accountId, secret: settings.secret }, provider))) return created
    return (await byokKeys.find(accountId, id)) ?? created
  }

  const listing = {
    ...schema,
    summary: "The account's BYOK keys at providers",
    response: { 200: page },
  }
  app.get(path, { ...options, schema: listing }, async (request) => {
    const { accountId, holder } = requester(request)
    const found = await slots.run(holder, () => byokKeys.list(accountId))
    const providers = providersTakingKeys(catalog())
    return {
      object: 'list',
      data: found.map(byokKeyView),
      providers: [...providers.keys()].sort(),
      ...more(providers),
    }
  })

  const adding = {
    ...schema,
    summary: 'Store a key at a provider',
    body: NewByokKeyBody,
    response: { 201: ByokKeyBody },
  }
  app.post(path, { ...changingOptions, schema: adding }, async (request, reply) => {
    const { accountId, holder } = requester(request)
    const { provider: providerId, key: secret, name = '', allow_fallback = false } = request.body
    const providers = providersTakingKeys(catalog())
    const provider = providers.get(providerId)
    if (!provider)
      throw invalid(
        'provider',
        `\`provider\` names no provider that takes keys. GET ${path} lists them under \`providers\`.`,
      )
    const settings = { providerId, secret, name, allowFallback: allow_fallback }
    const created = await slots.run(holder, () => store(accountId, settings, provider))
    await access.record(request, 'provider_key.added', created.id, { provider: provider.name })
    await mailByokKeyAdded({ accountId, providerKeyId: created.id, by: access.author(request) })
    return reply.code(201).send(byokKeyView(created))
  })

  const changing = {
    ...schema,
    summary: 'Change a provider key',
    params: OfId,
    body: ByokKeyPatch,
    response: { 200: ByokKeyBody },
  }
  app.patch(`${path}/:id`, { ...changingOptions, schema: changing }, async (request) => {
    const { accountId, holder } = requester(request)
    const { name, disabled, allow_fallback: allowFallback } = request.body
    const changed = await slots.run(holder, () =>
      byokKeys.update(accountId, request.params.id, {
        ...(name !== undefined && { name }),
        ...(allowFallback !== undefined && { allowFallback }),
        ...(disabled !== undefined && { disabled }),
      }),
    )
    if (changed === null) throw unknownKey()
    await access.record(request, 'provider_key.changed', changed.id, { provider: nameOf(changed) })
    return byokKeyView(changed)
  })

  const deleting = {
    ...schema,
    summary: 'Delete a provider key',
    params: OfId,
    response: { 200: ByokKeyDeleted },
  }
  app.delete(`${path}/:id`, { ...changingOptions, schema: deleting }, async (request) => {
    const { accountId, holder } = requester(request)
    const { id } = request.params
    const removed = await slots.run(holder, () => byokKeys.remove(id, accountId))
    if (removed === null) throw unknownKey()
    await access.record(request, 'provider_key.removed', id, { provider: nameOf(removed) })
    return { id, object: 'provider_key' as const, deleted: true as const }
  })
}

const unknownKey = () => new ApiError('not_found', 'This account has no provider key with this id.')

/** The providers of the catalog that accept BYOK keys, by id. */
function providersTakingKeys(catalog: CatalogSnapshot): Map<string, Provider> {
  const offers = [...catalog.offers.values()]
  return new Map(
    offers.flatMap(({ provider }) => (takesByokKeys(provider) ? [[provider.id, provider] as const] : [])),
  )
}

/** A BYOK key for its owner, with only the last characters of the secret. */
export const byokKeyView = (key: StoredByokKey): ByokKeyBody =>
  jsonView(ByokKeyBody, {
    ...key,
    object: 'provider_key' as const,
    provider: key.providerId,
    status: byokKeyStatus(key),
    failures: key.refusals,
  })
