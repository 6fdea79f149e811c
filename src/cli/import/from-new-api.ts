import { hashOfToken } from '../../accounts/secret-token.ts'
import type { AccountEntry, KeyEntry } from '../gateway-file/gateway-document.ts'
import { catalogOf, type Deployment } from './deployments.ts'
import type { KnownModels } from './known-models.ts'
import {
  distinctNames,
  heldFields,
  type ImportOptions,
  listOf,
  type Note,
  numberOf,
  recordOf,
  type Translation,
  textOf,
  usdText,
} from './translation.ts'

/** Types of channels of new-api and one-api that are providers of the catalog, or that speak its wires at an address. */
const CHANNEL_TYPES: Readonly<Record<number, string>> = {
  ...{ 1: 'openai', 3: 'azure', 4: 'ollama', 8: 'custom', 14: 'anthropic', 17: 'alibaba', 20: 'openrouter' },
  ...{
    24: 'google',
    25: 'moonshotai',
    26: 'zai',
    27: 'perplexity',
    34: 'cohere',
    35: 'minimax',
    42: 'mistral',
  },
  ...{ 43: 'deepseek', 48: 'xai' },
}
/** What a USD is in its quota. */
const QUOTA_PER_USD = 500_000
const ENABLED = 1
const NEVER = -1

/** The tables `users`, `tokens` and `channels` of new-api or one-api as JSON: an object of lists of rows. */
export function fromNewApi(
  source: unknown,
  known: KnownModels,
  options: ImportOptions,
  nowMs: number,
): Translation {
  const tables = recordOf(source)
  const rows = (name: string) =>
    listOf(tables[name])
      .map(recordOf)
      .filter((row) => row.deleted_at == null)
  const notes: Note[] = []
  const note = (kind: Note['kind'], what: string, text: string) => void notes.push({ kind, what, text })

  const deployments = rows('channels').flatMap(deploymentsOf)
  const { idsOf, ...fromChannels } = catalogOf(deployments, new Map(), known, options)
  const accounts = new Map<string, AccountEntry & { keys: KeyEntry[] }>()
  const holders = new Map<unknown, string | undefined>()
  const { owner } = options
  if (owner !== undefined)
    accounts.set(owner, {
      account: owner,
      ...(options.credit && { opening_credit_usd: options.credit }),
      keys: [],
    })
  for (const user of rows('users')) {
    const email = textOf(user.email)?.toLowerCase()
    const what = `user ${email ?? user.username}`
    if (user.status !== ENABLED) {
      note('lost', what, 'disabled: it and its keys are left out')
      continue
    }
    holders.set(user.id, email ?? owner)
    if (!email) note('lost', what, 'has no email; its keys go to --owner')
    else accounts.set(email, { account: email, opening_credit_usd: usdOf(user.quota), keys: [] })
    if ((numberOf(user.role) ?? 0) >= 10)
      note('lost', what, 'an administrator: npm run admin -- operator add')
    leftOut(user, ['group', 'aff_quota', 'setting'], what)
  }
  for (const { account, key } of rows('tokens').flatMap(keyOf)) {
    const entry = accounts.get(account) ?? { account, keys: [] }
    accounts.set(account, { ...entry, keys: [...entry.keys, key] })
  }
  for (const name of Object.keys(tables))
    if (!['users', 'tokens', 'channels'].includes(name)) note('lost', `table ${name}`, 'is not read')
  return {
    catalog: fromChannels.catalog,
    accounts: [...accounts.values()].map((entry) => ({ ...entry, keys: distinctNames(entry.keys) })),
    notes: [...fromChannels.notes, ...notes],
  }

  function leftOut(row: Record<string, unknown>, fields: readonly string[], what: string): void {
    const held = heldFields(row, fields).filter((field) => row[field] !== 'default')
    if (held.length > 0) note('lost', what, `${held.join(', ')}: no equal`)
  }

  /** A channel has one key for many models, which clients may know by other names. */
  function deploymentsOf(channel: Record<string, unknown>): Deployment[] {
    const what = `channel ${channel.name ?? channel.id}`
    const provider = CHANNEL_TYPES[numberOf(channel.type) ?? 0]
    if (channel.status !== ENABLED || provider === undefined) {
      note(
        'lost',
        what,
        provider === undefined ? `type ${channel.type} is not known here` : 'disabled: left out',
      )
      return []
    }
    const mapping = recordOf(parsed(channel.model_mapping))
    const address = textOf(channel.base_url)?.replace(/\/+$/, '')
    // The paths of its providers begin with /v1.
    const baseUrl =
      address === undefined || provider === 'azure' || /\/v\d[^/]*$/.test(address) ? address : `${address}/v1`
    leftOut(
      channel,
      ['param_override', 'header_override', 'status_code_mapping', 'priority', 'weight', 'group'],
      what,
    )
    return String(channel.models ?? '')
      .split(',')
      .map((name) => name.trim())
      .filter((name) => name !== '')
      .map((name) => ({ name, provider, model: textOf(mapping[name]) ?? name, baseUrl }))
  }

  function keyOf(token: Record<string, unknown>): Array<{ account: string; key: KeyEntry }> {
    const name = textOf(token.name) ?? `token ${token.id}`
    const what = `key ${name}`
    const expires = numberOf(token.expired_time) ?? NEVER
    const account = holders.get(token.user_id)
    const secret = textOf(token.key)?.replace(/^sk-/, '')
    const reason =
      token.status !== ENABLED
        ? 'not enabled: left out'
        : expires !== NEVER && expires * 1_000 <= nowMs
          ? 'expired: left out'
          : secret === undefined
            ? 'the export has no key'
            : account === undefined
              ? 'belongs to no account here: import again with --owner EMAIL'
              : null
    if (reason !== null) {
      note('lost', what, reason)
      return []
    }
    leftOut(token, ['allow_ips', 'subnet', 'group', 'cross_group_retry'], what)
    const names =
      token.model_limits_enabled === false ? '' : (textOf(token.model_limits) ?? textOf(token.models) ?? '')
    return [
      {
        account: account!,
        key: {
          name,
          sha256: Buffer.from(hashOfToken(`sk-${secret}`)).toString('hex'),
          expires_at: expires === NEVER ? null : new Date(expires * 1_000).toISOString(),
          limit_usd:
            token.unlimited_quota === true || token.unlimited_quota === 1 ? null : usdOf(token.remain_quota),
          models: [
            ...new Set(
              names
                .split(',')
                .filter(Boolean)
                .flatMap((one) => (idsOf(one).length > 0 ? idsOf(one) : [one])),
            ),
          ],
        },
      },
    ]
  }
}

const usdOf = (quota: unknown): string => usdText((numberOf(quota) ?? 0) / QUOTA_PER_USD)

function parsed(text: unknown): unknown {
  if (typeof text !== 'string' || text.trim() === '') return text
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
