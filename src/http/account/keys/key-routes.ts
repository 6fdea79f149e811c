import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { KeyBounds, KeyEdit, StoredKey } from '../../../accounts/key-store.ts'
import type { AccountActionName, ActionDetails } from '../../../core/accounts/account-action.ts'
import { type KeyScope, permitsScope } from '../../../core/accounts/key-scope.ts'
import type { MemberRole } from '../../../core/accounts/member-permissions.ts'
import {
  CreatedKey,
  KeyEditBody,
  KeyList,
  KeyView,
  newOwnKeyBody,
  RotateSecretBody,
} from '../../../core/api/keys.ts'
import { type CatalogSnapshot, findModel, type Provider } from '../../../core/catalog/catalog.ts'
import { ApiError, invalid } from '../../../core/kernel/errors.ts'
import { oncePer } from '../../../core/kernel/once-per.ts'
import { developerOf } from '../../../core/routing/allow-list.ts'
import { OfId } from '../../page.ts'
import { actingOn, keyAuthority, mayUseKey, refuseUnpermitted } from '../../plugins/session.ts'
import { keyViews } from './key-view.ts'
import { readKeyEdit, readNewKey } from './read-key-settings.ts'

const BOUNDS: KeyBounds = { active: 200, inAll: 1_000 }

/**
 * The API keys of the session's account: shown once when created, and by a hint afterwards. Roles without permission
 * for all keys see and change those that the person created.
 */
export const keyRoutes: FastifyPluginAsyncTypebox = async (app) => {
  const { keys: keyStore, editKey, groupBudgets, throttleAccount, announce, limits, clock } = app.accounts
  const { keyActivity } = app.billing
  const { snapshot: catalog } = app.catalog
  const ofSession = { onRequest: [app.requirePermission('keys')] }
  const ofKey = { ...ofSession, schema: { params: OfId, response: { 200: KeyView } } }

  const viewsOf = (request: FastifyRequest, keys: readonly StoredKey[]) =>
    keyViews(keys, keyAuthority(request), { keyActivity, limits }, clock())
  const viewOf = async (request: FastifyRequest, key: StoredKey): Promise<KeyView> => {
    const [view] = await viewsOf(request, [key])
    if (!view) throw new Error('a key has no view')
    return view
  }

  /** The requested key, if it belongs to the account and the person may use it. */
  const ownKey = async (request: FastifyRequest & { params: { id: string } }) => {
    const accountId = actingOn(request).account.id
    const key = await keyStore.find(request.params.id)
    if (key?.accountId !== accountId || !mayUseKey(request, key))
      throw new ApiError('not_found', 'This account has no key with this id.')
    return { ...key, accountId }
  }
  const edited = async (
    request: FastifyRequest,
    key: Awaited<ReturnType<typeof ownKey>>,
    edit: KeyEdit,
    action: AccountActionName = 'key.edited',
    details: ActionDetails = {},
  ): Promise<KeyView> => {
    if (key.state === 'revoked') throw new ApiError('invalid_request', 'A revoked key cannot be changed.')
    await throttleAccount('key-edit', key.accountId)
    await editKey(key, edit, keyAuthority(request))
    await app.recordAction(request, action, key.id, { name: key.name, ...details })
    return viewOf(request, (await keyStore.find(key.id)) ?? key)
  }

  app.get('/keys', { ...ofSession, schema: { response: { 200: KeyList } } }, async (request) => {
    const { account } = actingOn(request)
    const keys = (await keyStore.list(account.id)).filter((key) => mayUseKey(request, key))
    return {
      data: await viewsOf(request, keys),
      defaults: {
        requests_per_minute: limits.requestsPerMinute,
        concurrent_calls: limits.concurrentCalls,
        tokens_per_minute: limits.tokensPerMinute,
        account_requests_per_minute: account.requestsPerMinute ?? limits.accountRequestsPerMinute,
        account_concurrent_calls: account.concurrentCalls ?? limits.accountConcurrentCalls,
      },
      providers: [...providersOf(catalog()).values()]
        .map(({ id, name }) => ({ id, name }))
        .sort((one, other) => one.name.localeCompare(other.name)),
    }
  })

  const creating = { ...ofSession, schema: { body: newOwnKeyBody(limits), response: { 201: CreatedKey } } }
  app.post('/keys', creating, async (request, reply) => {
    const { account, person } = actingOn(request)
    const scopes = request.body.scopes ?? []
    refuseScopes(scopes, actingOn(request).role)
    const settings = {
      ...readNewKey(request.body, clock()),
      ...readAllowedNames(request.body, catalog()),
      createdBy: person.id,
      scopes,
    }
    const creation = await keyStore.createWithin(account.id, settings, BOUNDS)
    if (creation.kind !== 'created') throw tooManyKeys(creation.kind)
    const { key, secret } = creation
    await app.recordAction(request, 'key.created', key.id, { name: key.name, ...scopeDetails(scopes) })
    return reply.code(201).send({ secret, key: await viewOf(request, key) })
  })

  app.get('/keys/:id', ofKey, async (request) => viewOf(request, await ownKey(request)))

  const editing = { ...ofSession, schema: { ...ofKey.schema, body: KeyEditBody } }
  app.patch('/keys/:id', editing, async (request) => {
    const key = await ownKey(request)
    const { scopes, project } = request.body
    if (project !== undefined && project !== key.project) {
      refuseUnpermitted(request, 'all_keys')
      await groupBudgets.expectProject(key.accountId, project)
    }
    const added = scopes?.filter((scope) => !key.scopes.includes(scope)) ?? []
    refuseScopes(added, actingOn(request).role)
    refuseScopes(added, key.creator?.role ?? null, 'The role of the creator of this key does not permit')
    const edit = {
      ...readKeyEdit(request.body, key, limits, clock()),
      ...readAllowedNames(request.body, catalog()),
      ...(scopes && { scopes }),
      ...(project !== undefined && { project }),
    }
    return edited(request, key, edit, 'key.edited', scopes && scopeDetails(scopes))
  })

  app.post('/keys/:id/pause', ofKey, async (request) => {
    const key = await ownKey(request)
    return edited(request, key, { pausedAt: key.pausedAt ?? new Date(clock()) }, 'key.paused')
  })

  app.post('/keys/:id/resume', ofKey, async (request) =>
    edited(request, await ownKey(request), { pausedAt: null }, 'key.resumed'),
  )

  const rotating = {
    ...ofSession,
    async preValidation(request: FastifyRequest) {
      request.body ??= {}
    },
    schema: { params: OfId, body: RotateSecretBody, response: { 200: CreatedKey } },
  }
  app.post('/keys/:id/rotate-secret', rotating, async (request) => {
    const { id, name, accountId } = await ownKey(request)
    const { grace_seconds: graceSeconds = 0 } = request.body
    await throttleAccount('key-edit', accountId)
    const rotated = await keyStore.rotateSecret(id, graceSeconds * 1_000)
    if (!rotated) throw new ApiError('invalid_request', 'A revoked key cannot be changed.')
    await announce({ keyId: id })
    await app.recordAction(request, 'key.secret_rotated', id, { name, grace_seconds: graceSeconds })
    return { secret: rotated.secret, key: await viewOf(request, rotated.key) }
  })

  app.post('/keys/:id/revoke', ofKey, async (request) => {
    const key = await ownKey(request)
    const revoked = await keyStore.revoke(key.id, new Date(clock()))
    // Without the announcement instances learn of it late, so its failure fails the request, which can be repeated.
    await announce({ keyId: key.id })
    await app.recordAction(request, 'key.revoked', key.id, { name: key.name })
    return viewOf(request, revoked ?? key)
  })
}

/** Throws ApiError 403 for scopes that a role does not permit. */
function refuseScopes(
  scopes: readonly KeyScope[],
  role: MemberRole | null,
  refusal = 'Your role does not permit',
): void {
  const refused = scopes.find((scope) => !permitsScope(role, scope))
  if (refused)
    throw new ApiError('not_permitted', `${refusal} the scope \`${refused}\`.`, { param: 'scopes' })
}

const scopeDetails = (scopes: readonly KeyScope[]): ActionDetails => ({ scopes: scopes.join(', ') })

const tooManyKeys = (kind: 'too-many-active' | 'too-many'): ApiError =>
  new ApiError(
    'invalid_request',
    kind === 'too-many-active'
      ? `An account has ${BOUNDS.active} keys at most. Revoke one first.`
      : `This account has made ${BOUNDS.inAll} keys. Ask the operator.`,
  )

/**
 * The permitted models and providers of a key; absent lists are unchanged. Aliases of a model become its id. Throws
 * ApiError for a name that is not in the catalog, because a mistyped entry would block the intended model.
 */
function readAllowedNames(
  { allowed_models: models, allowed_providers: providers }: KeyEditBody,
  catalog: CatalogSnapshot,
): Pick<KeyEdit, 'allowedModels' | 'allowedProviders'> {
  return {
    ...(models && { allowedModels: read(models, 'allowed_models', (name) => modelEntry(name, catalog)) }),
    ...(providers && {
      allowedProviders: read(providers, 'allowed_providers', (name) =>
        providersOf(catalog).has(name) ? name : null,
      ),
    }),
  }
}

function read(names: string[], param: string, entryOf: (name: string) => string | null): string[] {
  const entries = names.map((name) => {
    const entry = entryOf(name.trim())
    if (entry === null) throw invalid(param, `"${name}" is not in the catalog.`)
    return entry
  })
  return [...new Set(entries)]
}

function modelEntry(name: string, catalog: CatalogSnapshot): string | null {
  const developer = developerOf(name)
  if (developer === null) return findModel(catalog, name)?.id ?? null
  return developersOf(catalog).has(developer) ? name : null
}

const developersOf = oncePer(
  ({ models }: CatalogSnapshot): ReadonlySet<string> =>
    new Set([...models.values()].map(({ vendor }) => vendor)),
)

const providersOf = oncePer(
  ({ offers }: CatalogSnapshot): ReadonlyMap<string, Provider> =>
    new Map([...offers.values()].map(({ provider }) => [provider.id, provider])),
)
