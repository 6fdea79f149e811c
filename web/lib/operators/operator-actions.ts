/** Words for kinds of audited actions; one that is not here is shown as the API names it. */
const ACTIONS: Readonly<Record<string, string>> = {
  'account.create': 'Opened an account',
  'account.credit': 'Added credit',
  'account.adjust': 'Adjusted a balance',
  'account.alert': 'Set a low-balance alert',
  'account.limits': 'Changed limits of an account',
  'account.spend-cap': 'Set a spend cap',
  'organisation.create': 'Opened an organisation',
  'organisation.invite': 'Invited a member',
  'organisation.role': 'Changed the role of a member',
  'organisation.budget': 'Set the budget of a member',
  'account.suspend': 'Suspended an account',
  'account.resume': 'Resumed an account',
  'account.slow': 'Slowed an account down',
  'account.unslow': 'Ended the slowdown of an account',
  'account.set-password': 'Set a new password',
  'account.reset-second-factor': 'Reset a second factor',
  'key.create': 'Created an API key',
  'key.revoke': 'Revoked an API key',
  'key.limits': 'Changed limits of an API key',
  'operator.add': 'Added an operator',
  'operator.role': 'Changed a role',
  'operator.disable': 'Disabled an operator',
  'operator.enable': 'Enabled an operator',
  'admin-key.create': 'Created an admin key',
  'admin-key.revoke': 'Revoked an admin key',
  'catalog.edit': 'Changed the catalog',
  'catalog.revert': 'Reverted the catalog',
  'offer.enable': 'Retried an offer',
  'provider.enable': 'Retried a provider',
  'provider.check': 'Checked a provider',
  'surface.open': 'Opened an endpoint',
  'surface.close': 'Closed an endpoint',
  'topup.refund': 'Refunded a top-up',
  'audit.run': 'Started an audit',
  'alarm.acknowledge': 'Acknowledged an alarm',
}

export const actionText = (action: string): string => ACTIONS[action] ?? action

/** Names of details that do not read well as the API names them. */
const DETAILS: Readonly<Record<string, string>> = {
  amount_usd: 'amount, USD',
  credit_usd: 'credit, USD',
  limit_usd: 'spending limit, USD',
  low_balance_usd: 'below, USD',
  requests_per_minute: 'requests per minute',
  concurrent_calls: 'concurrent requests',
  expires_at: 'expires',
  limit_reset: 'limit resets',
  version: 'revision',
}

/**
 * The details of an audited action in lines, and the changed values behind what they do. Rows of before `changes` were
 * recorded have only the version that a change was based on, which says nothing here.
 */
export function detailLines(details: Readonly<Record<string, unknown>>): {
  lines: string[]
  values: string[]
} {
  const { effects, changes, expected_version: _, error, ...others } = details
  const plain = Object.entries(others)
    .filter(([, value]) => value !== null && value !== '')
    .map(([name, value]) => `${DETAILS[name] ?? name.replaceAll('_', ' ')}: ${textOf(value)}`)
  const done = typeof effects === 'string' ? effects.split('; ') : []
  const changed = Array.isArray(changes) ? changes.map(textOf) : []
  const lines = [
    ...(done.length > 0 ? done : changed),
    ...(plain.length > 0 ? [plain.join('; ')] : []),
    ...(error === undefined ? [] : [`error: ${textOf(error)}`]),
  ]
  return { lines, values: done.length > 0 ? changed : [] }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

interface Actor {
  actor: string
  actor_name: string | null
  actor_key: string | null
}

/** Who did something, and by what: a key, single sign-on or the command line. */
export function actorText({ actor, actor_name: name, actor_key: key }: Actor): { who: string; by: string } {
  if (name !== null) return { who: name, by: key ?? 'single sign-on' }
  const [, user] = /^cli:(.*)$/.exec(actor) ?? []
  return user === undefined ? { who: actor, by: '' } : { who: user, by: 'command line' }
}
