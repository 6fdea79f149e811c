/** Words for the ends of actions; of others the past tense is made, and what has one already stays. */
const CHANGES: Readonly<Record<string, string>> = {
  alert: 'low-balance alert set',
  budget: 'budget set',
  guardrail: 'guardrail set',
  limits: 'limits changed',
  'reset-second-factor': 'second factor reset',
  role: 'role changed',
  run: 'started',
  'set-password': 'password set',
  'sign-in': 'sign-in set',
  slow: 'slowed down',
  'spend-cap': 'spend cap set',
  unslow: 'slowdown ended',
}

/** Words for what an action changes, where its name does not say it. */
const OBJECTS: Readonly<Record<string, string>> = {
  key: 'API key',
  topup: 'Top-up',
  top_up: 'Top-up',
  auto_top_up: 'Automatic top-up',
  'call-payment': 'Payment of a call',
  quarantine: 'Quarantined call',
}

/** An audited action of an operator or a member in words: `key.revoke` and `key.revoked` are both "API key revoked". */
export function actionText(action: string): string {
  const [object = '', change = ''] = action.split('.')
  const words = (CHANGES[change] ?? pastOf(change)).replaceAll('_', ' ')
  const name = OBJECTS[object] ?? object.replaceAll(/[_-]/g, ' ')
  return `${name.charAt(0).toUpperCase()}${name.slice(1)} ${words}`
}

const pastOf = (verb: string): string =>
  /(?:ed|set|left)$/.test(verb) ? verb : verb.endsWith('e') ? `${verb}d` : `${verb}ed`

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
