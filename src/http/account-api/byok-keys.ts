import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type TSchema, Type } from 'typebox'
import { BYOK_KEYS_PER_ACCOUNT_MAX, type NewByokKey, type StoredByokKey } from '../../byok/byok-key-store.ts'
import type { AccountActionName } from '../../core/accounts/account-action.ts'
import {
  ByokKeyBody,
  ByokKeyDeleted,
  ByokKeyList,
  ByokKeyPatch,
  ByokKeyView,
  NewByokKeyBody,
  ProviderKeyPage,
} from '../../core/api/byok-keys.ts'
import { jsonView } from '../../core/api/json-view.ts'
import type { CatalogSnapshot, Provider } from '../../core/catalog/catalog.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { byokKeyStatus, takesByokKeys } from '../../core/routing/byok.ts'
import { OfId } from '../page.ts'
import { askingKey } from '../plugins/authenticate.ts'
import { actingOn } from '../plugins/session.ts'
import { createSlots } from '../slots.ts'
import { type AccountAccess, byKey, bySession } from './account-access.ts'
import { createRecordKeyAction } from './record-key-action.ts'

type Providers = ReadonlyMap<string, Provider>

/** A group of users of the keys, and their JSON. */
interface Audience extends AccountAccess {
  /** The hooks of routes that change keys. */
  changing: AccountAccess['hooks']
  /** The person or key that made a request. */
  author(request: FastifyRequest): string
  /** Called after a change. */
  changed(request: FastifyRequest, action: AccountActionName, target: string, of: string): Promise<void>
  key: TSchema
  viewOf(key: StoredByokKey, providers: Providers): unknown
  list: TSchema
  listOf(keys: readonly StoredByokKey[], providers: Providers): unknown
  /** The response of a DELETE; null: none, 204. */
  deleted: ((id: string) => ByokKeyDeleted) | null
  /** The text of a 400 for a provider that accepts no BYOK keys. */
  unknownProvider: string
}

const KEY_REFUSAL = 'Admin keys belong to no account. Use a standard key.'
const RUNNING_MAX = 100
const RUNNING_PER_HOLDER_MAX = 10
const BODY_LIMIT_BYTES = 16 * 1024

/** GET and POST /v1/provider-keys, PATCH and DELETE /v1/provider-keys/{id}: an account's BYOK keys at providers. */
export const providerKeysRoute =
  (path: string): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { services } = app
    const record = createRecordKeyAction(services)
    await byokKeyRoutes(path, (scope) => ({
      ...byKey(scope, 'provider_keys', KEY_REFUSAL),
      changing: byKey(scope, 'provider_keys', KEY_REFUSAL).hooks,
      author: (request) => askingKey(request).keyId,
      changed: (request, action, target, provider) => record(request, action, target, { provider }),
      key: ByokKeyBody,
      viewOf: byokKeyView,
      list: ProviderKeyPage,
      listOf: (keys, providers) => ({
        object: 'list',
        data: keys.map(byokKeyView),
        providers: [...providers.keys()].sort(),
      }),
      deleted: (id) => ({ id, object: 'provider_key', deleted: true }),
      unknownProvider: `\`provider\` names no provider that takes keys. GET ${path} lists them under \`providers\`.`,
    }))(app, {})
  }

/** The same under /console/api, for the session's account. */
export const consoleByokKeyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { limits } = app.services
  await byokKeyRoutes('/provider-keys', (scope) => ({
    ...bySession(scope, 'view_integrations'),
    changing: bySession(scope, 'integrations').hooks,
    author: (request) => actingOn(request).person.id,
    changed: (request, action, target, provider) => scope.recordAction(request, action, target, { provider }),
    key: ByokKeyView,
    viewOf: consoleView,
    list: ByokKeyList,
    listOf: (keys, providers): ByokKeyList => ({
      data: keys.map((key) => consoleView(key, providers)),
      providers: [...providers.values()]
        .map(({ id, name }) => ({ id, name }))
        .sort((one, other) => one.name.localeCompare(other.name)),
      fee_percent: String(limits.byokFeePercent),
    }),
    deleted: null,
    unknownProvider: 'No provider of that name takes keys here.',
  }))(app, {})
}

/** The routes return only the last characters of a secret. */
function byokKeyRoutes(
  path: string,
  audienceOf: (app: FastifyInstance) => Audience,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    const { byokKeys, keyChecker, catalog, mailByokKeyAdded } = app.services
    const { requester, hooks, schema, ...audience } = audienceOf(app)
    const options = { ...hooks, bodyLimit: BODY_LIMIT_BYTES }
    const changingOptions = { ...audience.changing, bodyLimit: BODY_LIMIT_BYTES }
    const slots = createSlots({
      max: RUNNING_MAX,
      maxPerHolder: RUNNING_PER_HOLDER_MAX,
      holderIsFull: 'This account has requests for provider keys running. Wait for one to end.',
      allTaken: 'Too many requests for provider keys at once. Retry shortly.',
    })

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
      response: { 200: audience.list },
    }
    app.get(path, { ...options, schema: listing }, async (request) => {
      const { accountId, holder } = requester(request)
      const found = await slots.run(holder, () => byokKeys.list(accountId))
      return audience.listOf(found, providersTakingKeys(catalog()))
    })

    const adding = {
      ...schema,
      summary: 'Store a key at a provider',
      body: NewByokKeyBody,
      response: { 201: audience.key },
    }
    app.post(path, { ...changingOptions, schema: adding }, async (request, reply) => {
      const { accountId, holder } = requester(request)
      const { provider: providerId, key: secret, name = '', allow_fallback = false } = request.body
      const providers = providersTakingKeys(catalog())
      const provider = providers.get(providerId)
      if (!provider) throw invalid('provider', audience.unknownProvider)
      const settings = { providerId, secret, name, allowFallback: allow_fallback }
      const created = await slots.run(holder, () => store(accountId, settings, provider))
      await audience.changed(request, 'provider_key.added', created.id, provider.name)
      await mailByokKeyAdded({ accountId, providerKeyId: created.id, by: audience.author(request) })
      return reply.code(201).send(audience.viewOf(created, providers))
    })

    const changing = {
      ...schema,
      summary: 'Change a provider key',
      params: OfId,
      body: ByokKeyPatch,
      response: { 200: audience.key },
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
      const providers = providersTakingKeys(catalog())
      await audience.changed(request, 'provider_key.changed', changed.id, nameOf(changed, providers))
      return audience.viewOf(changed, providers)
    })

    const deleting = {
      ...schema,
      summary: 'Delete a provider key',
      params: OfId,
      response: { 200: ByokKeyDeleted, 204: Type.Unsafe<unknown>(Type.Null()) },
    }
    app.delete(`${path}/:id`, { ...changingOptions, schema: deleting }, async (request, reply) => {
      const { accountId, holder } = requester(request)
      const { id } = request.params
      const removed = await slots.run(holder, () => byokKeys.remove(id, accountId))
      if (removed === null) throw unknownKey()
      await audience.changed(
        request,
        'provider_key.removed',
        id,
        nameOf(removed, providersTakingKeys(catalog())),
      )
      return audience.deleted ? audience.deleted(id) : reply.code(204).send()
    })
  }
}

const nameOf = ({ providerId }: StoredByokKey, providers: Providers): string =>
  providers.get(providerId)?.name ?? providerId

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

/** The texts of failures of a key at its provider. */
const FAILURES: Record<string, string> = {
  unauthorized: 'The provider does not accept this key.',
  payment_required: 'The provider asks for payment.',
  forbidden: 'The provider does not permit this key to do what was asked.',
  unreachable: 'The provider could not be reached.',
}

function consoleView(key: StoredByokKey, providers: Providers): ByokKeyView {
  const { lastError, providerId } = key
  return jsonView(ByokKeyView, {
    ...key,
    provider: providerId,
    providerName: nameOf(key, providers),
    status: byokKeyStatus(key),
    failures: key.refusals,
    lastError: lastError === null ? null : (FAILURES[lastError] ?? 'The provider refused this key.'),
  })
}
