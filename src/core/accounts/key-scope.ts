import { isPermitted, type MemberRole, type Permission } from './member-permissions.ts'

/** Permissions of an API key besides calls, off by default. */
export const KEY_SCOPES = [
  'provider_keys',
  'top_ups',
  'presets',
  'responses',
  'budgets',
  'guardrails',
] as const
export type KeyScope = (typeof KEY_SCOPES)[number]

/** The permission that the role of a key's creator must have. */
const PERMISSIONS: Record<KeyScope, Permission> = {
  provider_keys: 'integrations',
  top_ups: 'billing',
  presets: 'integrations',
  responses: 'all_keys',
  budgets: 'limits',
  guardrails: 'integrations',
}

/** Whether a key created by a member with this role may have a scope; null: the creator is no longer a member. */
export const permitsScope = (role: MemberRole | null, scope: KeyScope): boolean =>
  role !== null && isPermitted(role, PERMISSIONS[scope])

/** The scopes of a key that the current role of its creator still permits. */
export const effectiveScopes = (stored: readonly string[], role: MemberRole | null): KeyScope[] =>
  KEY_SCOPES.filter((scope) => stored.includes(scope) && permitsScope(role, scope))
