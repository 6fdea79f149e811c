/** Roles of members of an organisation. The holder of a personal account is its owner. */
export const MEMBER_ROLES = ['owner', 'admin', 'developer', 'billing'] as const
export type MemberRole = (typeof MEMBER_ROLES)[number]

const ALL = MEMBER_ROLES
const MANAGERS = ['owner', 'admin'] as const

/** What the console does on an account, and the roles that may do it. */
const PERMITTED_ROLES = {
  /** See the account, its balance and its members. */
  view: ALL,
  /** Usage and the request log, of all members. */
  usage: ALL,
  /** API keys of one's own, and the playground with them. */
  keys: ['owner', 'admin', 'developer'],
  /** API keys of everybody. */
  all_keys: MANAGERS,
  /** Provider keys and webhooks: to see them, and to change them. */
  view_integrations: ['owner', 'admin', 'developer'],
  integrations: MANAGERS,
  /** Top-ups, also automatic ones, the saved card, invoices, receipts, the ledger. */
  billing: ['owner', 'admin', 'billing'],
  /** What may be spent, and when a low balance is reported. */
  limits: ['owner', 'admin', 'billing'],
  /** Members that are no owners, and invitations. */
  members: MANAGERS,
  /** The name of the organisation. */
  settings: MANAGERS,
  /** What people did to the account. */
  activity: MANAGERS,
  /** Owners, a copy of everything that is stored, and deletion. */
  ownership: ['owner'],
} as const satisfies Record<string, readonly MemberRole[]>

export type Permission = keyof typeof PERMITTED_ROLES

export const PERMISSIONS = Object.keys(PERMITTED_ROLES) as Permission[]

export const rolesPermitted = (permission: Permission): readonly MemberRole[] => PERMITTED_ROLES[permission]

export const isPermitted = (role: MemberRole, permission: Permission): boolean =>
  rolesPermitted(permission).includes(role)
