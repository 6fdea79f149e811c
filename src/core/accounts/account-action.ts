/** Recorded actions on an account: the object, a dot, and the change. */
export const ACCOUNT_ACTIONS = [
  'organisation.created',
  'organisation.renamed',
  'member.invited',
  'member.joined',
  'member.role_changed',
  'member.budget_set',
  'member.removed',
  'member.left',
  'invitation.revoked',
  'key.created',
  'key.edited',
  'key.paused',
  'key.resumed',
  'key.revoked',
  'key.secret_rotated',
  'key.prompt_logs_deleted',
  'top_up.opened',
  'auto_top_up.set',
  'saved_card.requested',
  'saved_card.removed',
  'billing_details.changed',
  'low_balance.set',
  'spend_cap.set',
  'provider_key.added',
  'provider_key.changed',
  'provider_key.removed',
  'preset.saved',
  'preset.deleted',
  'webhook.added',
  'webhook.removed',
  'webhook.secret_rotated',
  'webhook.enabled',
] as const
export type AccountActionName = (typeof ACCOUNT_ACTIONS)[number]

/** Details of an action: text, numbers, amounts as decimal strings of USD. Never a secret. */
export type ActionDetails = Record<string, string | number | boolean | null>
