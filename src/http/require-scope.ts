import type { FastifyRequest } from 'fastify'
import type { KeyScope } from '../core/accounts/key-scope.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { askingKey } from './plugins/authenticate.ts'

/** What a scope permits, in messages. */
const PURPOSES: Record<KeyScope, string> = {
  provider_keys: 'manage provider keys',
  top_ups: 'open or read top-ups',
}

/** An onRequest hook after `requireKey`: 403 for a key without the scope. */
export const requireScope = (scope: KeyScope) => async (request: FastifyRequest) => {
  if (askingKey(request).scopes.includes(scope)) return
  throw new ApiError(
    'not_permitted',
    `This API key may not ${PURPOSES[scope]}: it does not have the scope \`${scope}\`. ` +
      'An owner or admin turns it on in the console, under API keys → Edit → Permissions; the key must be of an owner or admin.',
  )
}
