/** Permissions of operators. Every operator route declares the one it requires. */
export const PERMISSIONS = {
  /** All pages and metrics for operators. */
  read: ['admin', 'billing', 'support', 'viewer'],
  /** Suspends and resumes accounts; pauses, resumes and revokes their keys. */
  'accounts.suspend': ['admin', 'billing', 'support'],
  /** Opens accounts, issues and edits their keys, sets their limits, opens surfaces to them. */
  'accounts.write': ['admin', 'billing'],
  /** Credits, adjustments, top-ups, refunds and invoices. */
  'billing.write': ['admin', 'billing'],
  /** Starts an audit of the ledger. */
  'audits.run': ['admin', 'billing', 'support'],
  /** Acknowledges alarms, closes breakers, requeues settlements. */
  'operations.write': ['admin', 'support'],
  /** Models, prices, offers and providers. */
  'catalog.write': ['admin'],
  /** The gateway's own keys at providers. */
  'provider-keys.write': ['admin'],
  /** Alarm destinations, the public status page, and other settings of the gateway. */
  'settings.write': ['admin'],
  /** Operators, their roles and their admin keys. */
  'operators.write': ['admin'],
} as const satisfies Record<string, readonly OperatorRole[]>

export const OPERATOR_ROLES = ['admin', 'billing', 'support', 'viewer'] as const
export type OperatorRole = (typeof OPERATOR_ROLES)[number]

export type OperatorPermission = keyof typeof PERMISSIONS

export const isPermitted = (role: OperatorRole, permission: OperatorPermission): boolean =>
  (PERMISSIONS[permission] as readonly OperatorRole[]).includes(role)
