import type { LimitReset } from '../../core/billing/allowance-period.ts'
import type { AccountEntry, KeyEntry } from '../gateway-file/gateway-document.ts'
import type { DeploymentCatalog } from './deployments.ts'
import {
  countOf,
  distinctNames,
  heldFields,
  type ImportOptions,
  listOf,
  type Note,
  numberOf,
  recordOf,
  type Translation,
  textOf,
  textsOf,
  usdText,
} from './translation.ts'

type Row = Record<string, unknown>

/** The tables of a LiteLLM proxy's database that are read, by what follows `LiteLLM_` in their names. */
export const LITELLM_TABLES = [
  ...['VerificationToken', 'TeamTable', 'UserTable', 'TeamMembership', 'BudgetTable', 'ProxyModelTable'],
  ...['OrganizationTable', 'EndUserTable', 'TagTable', 'ProjectTable'],
] as const
export type LitellmRows = Readonly<Record<(typeof LITELLM_TABLES)[number], readonly Row[]>>

const KEY_LEFT = [
  'tpm_limit tpd_limit aliases config permissions router_settings model_max_budget budget_limits budget_fallbacks',
  'allowed_routes policies object_permission_id agent_id organization_id access_group_ids auto_rotate',
  'metadata allowed_cache_controls',
].flatMap((names) => names.split(' '))
const TEAM_LEFT = [
  'tpm_limit tpd_limit soft_budget model_max_budget budget_limits router_settings metadata organization_id model_id',
  'object_permission_id policies access_group_ids',
].flatMap((names) => names.split(' '))
const USER_LEFT = ['tpm_limit', 'model_max_budget', 'organization_id', 'sso_user_id', 'metadata', 'policies']
const PROJECT_LEFT = [
  'models',
  'metadata',
  'model_rpm_limit',
  'model_tpm_limit',
  'blocked',
  'object_permission_id',
]
/** The team of the sessions of LiteLLM's own console. */
const SESSIONS = 'litellm-dashboard'

/** Teams, users and keys of a LiteLLM proxy's database. A team is an organisation, a user with an email a person. */
export function fromLitellmDatabase(
  rows: LitellmRows,
  { idsOf }: Pick<DeploymentCatalog, 'idsOf'>,
  { owner, credit }: Pick<ImportOptions, 'owner' | 'credit'>,
  nowMs: number,
): Pick<Translation, 'accounts' | 'notes'> {
  const notes: Note[] = []
  const note = (kind: Note['kind'], what: string, text: string) => void notes.push({ kind, what, text })
  const budgets = new Map(rows.BudgetTable.map((row) => [row.budget_id, row]))
  const users = new Map(rows.UserTable.map((row) => [row.user_id, row]))
  const emailOf = (userId: unknown) => textOf(users.get(userId)?.user_email)?.toLowerCase()
  const accounts = new Map<string, AccountEntry & { keys: KeyEntry[] }>()
  const teams = new Map<unknown, string | null>()

  const open = (email: string) =>
    accounts.set(email, accounts.get(email) ?? { account: email, ...moneyOf({}, email), keys: [] })
  if (owner !== undefined) open(owner)
  for (const user of rows.UserTable) {
    const email = emailOf(user.user_id)
    const what = `user ${email ?? user.user_id}`
    if (email) accounts.set(email, { account: email, ...moneyOf(user, what), keys: [] })
    else if (user.user_id !== 'default_user_id') note('lost', what, 'has no email; its keys go to --owner')
    noteLeft(user, USER_LEFT, what)
    const role = textOf(user.user_role)
    if (role?.startsWith('proxy_admin')) note('lost', what, `role ${role}: npm run admin -- operator add`)
  }
  const named = distinctNames(
    rows.TeamTable.map((row) => ({ row, name: textOf(row.team_alias) ?? String(row.team_id) })),
  )
  for (const { row, name } of named) {
    const what = `team ${name}`
    const members = membersOf(row, what)
    const head = members.find(({ role }) => role === 'admin')?.email ?? owner
    teams.set(row.team_id, head === undefined || row.blocked === true ? null : name)
    if (row.blocked === true) note('lost', what, 'blocked: it and its keys are left out')
    else if (head === undefined)
      note('lost', what, 'has no admin with an email: import again with --owner EMAIL')
    else {
      open(head)
      accounts.set(name, {
        ...{ account: name, owner: head, concurrent_calls: countOf(row.max_parallel_requests) },
        ...{ requests_per_minute: countOf(row.rpm_limit), ...moneyOf(row, what) },
        members: members.map((member) =>
          member.email === head ? { ...member, role: 'owner' as const } : member,
        ),
        keys: [],
      })
    }
    noteLeft(row, TEAM_LEFT, what)
  }
  const projects = new Map<unknown, string>()
  const ofTeams = rows.ProjectTable.map((row) => ({
    row,
    name: textOf(row.project_alias) ?? String(row.project_id),
  }))
  for (const { row, name } of distinctNames(ofTeams)) {
    const [what, team] = [`project ${name}`, accounts.get(teams.get(row.team_id) ?? '')]
    if (!team) {
      note('lost', what, 'its team is left out')
      continue
    }
    const budget = budgets.get(row.budget_id)
    const [usd, duration] = [numberOf(budget?.max_budget), textOf(budget?.budget_duration)]
    const limit_reset = resetOf(duration)
    const spent = limit_reset === 'none' ? (numberOf(row.spend) ?? 0) : 0
    const limit_usd = usd === undefined ? null : usdText(usd - spent)
    team.budgets = [...(team.budgets ?? []), { scope: 'project', value: name, limit_usd, limit_reset }]
    projects.set(row.project_id, name)
    if (usd !== undefined && duration !== undefined && !EXACT.test(duration))
      note('differs', what, `budget of ${duration}: here ${limit_reset === 'none' ? 'in all' : limit_reset}`)
    noteLeft(row, PROJECT_LEFT, what)
  }
  for (const { account, key } of rows.VerificationToken.flatMap(keyOf)) {
    const entry = accounts.get(account) ?? { account, keys: [] }
    accounts.set(account, { ...entry, keys: [...entry.keys, key] })
  }
  for (const table of ['OrganizationTable', 'EndUserTable', 'TagTable'] as const)
    if (rows[table].length > 0) note('lost', `LiteLLM_${table}`, `${rows[table].length} rows: left out`)
  return {
    accounts: [...accounts.values()].map((entry) => ({ ...entry, keys: distinctNames(entry.keys) })),
    notes,
  }

  function noteLeft(row: Row, fields: readonly string[], what: string): void {
    const held = heldFields(row, fields)
    if (held.length > 0) note('lost', what, `${held.join(', ')}: no equal`)
  }

  /** A total is a balance; a budget of a month is the spend cap. */
  function moneyOf(row: Row, what: string): Pick<AccountEntry, 'spend_cap_usd' | 'opening_credit_usd'> {
    const budget = numberOf(row.max_budget)
    const duration = textOf(row.budget_duration)
    const reset = resetOf(duration)
    const opening = credit === undefined ? {} : { opening_credit_usd: credit }
    if (budget === undefined) return opening
    if (reset === 'none' && duration !== undefined)
      note('differs', what, `max_budget of ${duration}: is a balance, once`)
    if (reset === 'none') return { opening_credit_usd: usdText(budget - (numberOf(row.spend) ?? 0)) }
    if (reset !== 'monthly') note('differs', what, `max_budget of ${duration}: is the budget of a month`)
    return { ...opening, spend_cap_usd: usdText(budget) }
  }

  function membersOf(team: Row, what: string) {
    return listOf(team.members_with_roles)
      .map(recordOf)
      .flatMap(({ user_id, user_email, role }) => {
        const email = (textOf(user_email) ?? emailOf(user_id))?.toLowerCase()
        if (!email) {
          note('lost', what, `member ${user_id} has no email`)
          return []
        }
        const membership = rows.TeamMembership.find(
          (row) => row.user_id === user_id && row.team_id === team.team_id,
        )
        const budget = budgets.get(membership?.budget_id)
        const usd = numberOf(budget?.max_budget)
        if (usd !== undefined)
          note('differs', what, `${email}: budget applies once they have joined: import again then`)
        if (usd !== undefined && resetOf(textOf(budget?.budget_duration)) !== 'monthly')
          note(
            'differs',
            what,
            `${email}: budget of ${budget?.budget_duration ?? 'all time'} is that of a month`,
          )
        return [
          {
            ...{ email, role: role === 'admin' ? ('admin' as const) : ('developer' as const) },
            ...(usd !== undefined && { monthly_budget_usd: usdText(usd) }),
          },
        ]
      })
  }

  function keyOf(token: Row): Array<{ account: string; key: KeyEntry }> {
    const name = textOf(token.key_alias) ?? textOf(token.key_name) ?? String(token.token).slice(0, 8)
    const what = `key ${name}`
    const leave = (text: string) => {
      note('lost', what, text)
      return []
    }
    if (token.team_id === SESSIONS) return leave('a session of its console: left out')
    const expires = textOf(token.expires)
    const expiresAt = expires && new Date(/[Z+]/.test(expires) ? expires : `${expires}Z`)
    if (expiresAt && expiresAt.getTime() <= nowMs) return leave('expired: left out')
    if (!/^[0-9a-f]{64}$/.test(String(token.token))) return leave('its hash is no SHA-256: make a new one')
    const account =
      textOf(token.team_id) === undefined ? (emailOf(token.user_id) ?? owner) : teams.get(token.team_id)
    if (!account) return leave('belongs to no account here: import again with --owner EMAIL')

    const shared = budgets.get(token.budget_id) ?? {}
    const limits: Row = { ...token }
    for (const field of ['max_budget', 'budget_duration', 'rpm_limit', 'tpm_limit', 'max_parallel_requests'])
      limits[field] ??= shared[field]
    const duration = textOf(limits.budget_duration)
    const reset = resetOf(duration)
    const budget = numberOf(limits.max_budget)
    const isExact = reset === 'none' ? duration === undefined : EXACT.test(duration ?? '')
    if (budget !== undefined && !isExact)
      note('differs', what, `budget of ${duration}: here ${reset === 'none' ? 'in all' : reset}`)
    noteLeft(limits, KEY_LEFT, what)
    if (token.blocked === true) note('differs', what, 'blocked: is paused')
    const project = account === teams.get(token.team_id) ? projects.get(token.project_id) : undefined
    if (textOf(token.project_id) && !project) note('lost', what, 'its project is not in its team')
    const team = rows.TeamTable.find(({ team_id }) => team_id === token.team_id)
    return [
      {
        account,
        key: {
          ...{ name, sha256: String(token.token), models: modelsOf(token, team, what) },
          ...{ ...(token.blocked === true && { paused: true }), ...(project && { project }) },
          ...{
            requests_per_minute: countOf(limits.rpm_limit),
            expires_at: expiresAt ? expiresAt.toISOString() : null,
          },
          concurrent_calls: countOf(limits.max_parallel_requests),
          limit_reset: budget === undefined ? 'none' : reset,
          limit_usd:
            budget === undefined
              ? null
              : usdText(reset === 'none' ? budget - (numberOf(token.spend) ?? 0) : budget),
        },
      },
    ]
  }

  /** Models that a key may use, by their ids. A name that is unknown stays, so that a list never becomes every model. */
  function modelsOf(token: Row, team: Row | undefined, what: string): string[] {
    const own = textsOf(token.models)
    const names = own.length === 0 || own.includes('all-team-models') ? textsOf(team?.models) : own
    if (names.includes('all-proxy-models')) return []
    return [
      ...new Set(
        names.flatMap((name) => {
          if (name.endsWith('/*')) return [name]
          const ids = idsOf(name)
          if (ids.length === 0) note('differs', what, `model ${name} is not known here`)
          return ids.length > 0 ? ids : [name]
        }),
      ),
    ]
  }
}

const EXACT = /^(1d|24h|7d|1w|30d|1mo)$/
const DAYS: Readonly<Record<string, number>> = { s: 1 / 86_400, m: 1 / 1_440, h: 1 / 24, d: 1, w: 7, mo: 30 }

/** The period here that is at least as strict with the same amount: the next longer one. */
export function resetOf(duration: string | undefined): LimitReset {
  const [, count, unit] = /^(\d+)(mo|[smhdw])$/.exec(duration ?? '') ?? []
  if (count === undefined || unit === undefined) return 'none'
  const days = Number(count) * DAYS[unit]!
  if (days <= 1) return 'daily'
  if (days <= 7) return 'weekly'
  return days <= 31 ? 'monthly' : 'none'
}
