import { isPermitted, type MemberRole, type Permission } from './member-permissions.ts'

/** What an API key may do beside calls, if it is turned on for it. */
export const KEY_SCOPES = ['provider_keys', 'top_ups'] as const
export type KeyScope = (typeof KEY_SCOPES)[number]

/** What the role of a key's creator must permit. */
const PERMISSIONS: Record<KeyScope, Permission> = {
  provider_keys: 'integrations',
  top_ups: 'billing',
}

/** Whether a key of somebody with this role may have a scope; a role of null: of nobody who is a member. */
export const permitsScope = (role: MemberRole | null, scope: KeyScope): boolean =>
  role !== null && isPermitted(role, PERMISSIONS[scope])

/** The scopes that a key really has: those that are stored and that the current role of its creator permits. */
export const effectiveScopes = (stored: readonly string[], role: MemberRole | null): KeyScope[] =>
  KEY_SCOPES.filter((scope) => stored.includes(scope) && permitsScope(role, scope))
