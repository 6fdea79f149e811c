import type { OperatorRole } from '../../../src/core/accounts/operator-permissions.ts'

/** The roles with what they include, most rights first. */
export const ROLE_WORDS: Readonly<Record<OperatorRole, { name: string; about: string }>> = {
  admin: { name: 'Admin', about: 'everything, including the catalog, provider keys and operators' },
  billing: { name: 'Billing', about: 'accounts, keys, credits, adjustments, top-ups and audits' },
  support: { name: 'Support', about: 'suspends accounts and keys, handles alarms, breakers and queues' },
  viewer: { name: 'Viewer', about: 'reads everything, changes nothing' },
}
