/** Roles of members of an organisation. The holder of a personal account is its owner. */
export const MEMBER_ROLES = ['owner', 'admin', 'developer', 'billing'] as const
export type MemberRole = (typeof MEMBER_ROLES)[number]

const ALL = MEMBER_ROLES
const MANAGERS = ['owner', 'admin'] as const

/** The console's permissions on an account, and the roles that have each. */
const PERMITTED_ROLES = {
  /** View the account, its balance and its members. */
  view: ALL,
  /** Usage and the request log, of all members. */
  usage: ALL,
  /** The member's own API keys, and the playground with them. */
  keys: ['owner', 'admin', 'developer'],
  /** API keys of all members. */
  all_keys: MANAGERS,
  /** View provider keys and webhooks; below: change them. */
  view_integrations: ['owner', 'admin', 'developer'],
  integrations: MANAGERS,
  /** Top-ups, also automatic ones, the saved card, invoices, receipts, the ledger. */
  billing: ['owner', 'admin', 'billing'],
  /** Spending limits, and when a low balance is reported. */
  limits: ['owner', 'admin', 'billing'],
  /** Members other than owners, and invitations. */
  members: MANAGERS,
  /** The name of the organisation. */
  settings: MANAGERS,
  /** The log of people's actions on the account. */
  activity: MANAGERS,
  /** Owners, an export of all stored data, and deletion. */
  ownership: ['owner'],
} as const satisfies Record<string, readonly MemberRole[]>

export type Permission = keyof typeof PERMITTED_ROLES

export const PERMISSIONS = Object.keys(PERMITTED_ROLES) as Permission[]

export const rolesPermitted = (permission: Permission): readonly MemberRole[] => PERMITTED_ROLES[permission]

export const isPermitted = (role: MemberRole, permission: Permission): boolean =>
  rolesPermitted(permission).includes(role)
