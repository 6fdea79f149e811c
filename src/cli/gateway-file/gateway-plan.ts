import { isDeepStrictEqual } from 'node:util'
import { type Account, accountName, isPerson } from '../../accounts/account-store.ts'
import { createEmailTokenStore } from '../../accounts/email-token-store.ts'
import { createInvitationStore } from '../../accounts/organisation/invitation-store.ts'
import { isEmailShaped } from '../../core/kernel/email-address.ts'
import { formatUsdOrNull, type PicoUsd, parseUsd, picoUsd } from '../../core/kernel/money.ts'
import type { AuditedAction } from '../../operators/audit-log.ts'
import type { SurfaceHolder } from '../../operators/surface-grant-store.ts'
import type { AdminContext } from '../admin-command.ts'
import { plannedEdits, readEdits, replaceEdits } from '../catalog-edits.ts'
import { UsageError } from '../run-command.ts'
import type { AccountEntry, AlarmEntry, GatewayDocument, KeyEntry } from './gateway-document.ts'

/** A difference between a file and the gateway: what it is, and what ends it. It may return a secret to show once. */
export interface Change {
  text: string
  make: () => Promise<string | undefined>
}

async function done(work: Promise<unknown>): Promise<undefined> {
  await work
}

type Services = Omit<AdminContext, 'input'>

/**
 * What a file would change, in the order in which it is made. Throws UsageError for what cannot be done. Changes are made
 * by the operators' services, each audited; a plan that broke off is continued by the next.
 */
export async function planChanges(
  services: Services,
  document: GatewayDocument,
  environment: NodeJS.ProcessEnv,
): Promise<Change[]> {
  const { catalog, settings, surfaces, alarms, accounts = [] } = document
  const changes: Change[] = []
  if (catalog) changes.push(...(await catalogChanges(catalog, environment)))
  if (settings) changes.push(...(await settingChanges(services, settings)))
  if (surfaces)
    changes.push(...(await surfaceChanges(services, 'every account', surfaces, { everyAccount: true })))
  if (alarms) changes.push(...(await alarmChanges(services, alarms, environment)))
  for (const entry of accounts) changes.push(...(await accountChanges(services, entry)))
  return changes
}

/** The state of the gateway as a file: without secrets, and of accounts the organisations. */
export async function exportDocument(
  services: Services,
  environment: NodeJS.ProcessEnv,
): Promise<GatewayDocument> {
  const { settings, surfaceManagement, alarmDestinations, organisations } = services
  const edits = await readEdits(environment)
  const grants = await surfaceManagement.list({ everyAccount: true })
  return {
    ...(edits && { catalog: edits.content as object }),
    settings: { provider_status_public: (await settings.read()).providerStatusPublic },
    surfaces: grants.map(({ surface }) => surface).sort(),
    alarms: (await alarmDestinations.list()).map(({ name, kind, targetHint, minimumSeverity, enabled }) => ({
      ...{ name, kind, minimum_severity: minimumSeverity, enabled },
      target: kind === 'email' ? targetHint : `env:${environmentName(name)}`,
    })),
    accounts: await Promise.all(
      (await organisations.list()).map((account) => accountEntry(services, account)),
    ),
  }
}

/** `Ops on call` → `OPS_ON_CALL`. */
const environmentName = (name: string) => name.toUpperCase().replace(/\W+/g, '_')

async function catalogChanges(catalog: object, environment: NodeJS.ProcessEnv): Promise<Change[]> {
  const version = (await readEdits(environment))?.version ?? null
  const { changes, problems } = await plannedEdits(catalog, environment)
  if (problems.length > 0) throw new UsageError(`The catalog is not valid:\n  ${problems.join('\n  ')}`)
  const apply = () => done(replaceEdits(catalog, version, environment))
  return changes.map((text, index) => ({
    text: `catalog ${text}`,
    // One document: all of its changes are made at once.
    make: index === 0 ? apply : async () => undefined,
  }))
}

async function settingChanges(
  { settings, operator }: Services,
  { provider_status_public: wanted }: NonNullable<GatewayDocument['settings']>,
): Promise<Change[]> {
  const { providerStatusPublic } = await settings.read()
  if (wanted === undefined || wanted === providerStatusPublic) return []
  const make = () => done(settings.change(operator, { providerStatusPublic: wanted }))
  return [{ text: `setting provider_status_public: ${providerStatusPublic} → ${wanted}`, make }]
}

async function surfaceChanges(
  { surfaceManagement, operator }: Services,
  name: string,
  wanted: readonly string[],
  holder: SurfaceHolder,
): Promise<Change[]> {
  const open = (await surfaceManagement.list(holder)).map(({ surface }) => surface as string)
  const change = (verb: 'open' | 'close', surface: string): Change => ({
    text: `${name}: ${verb} ${surface}`,
    make: () => done(surfaceManagement[verb](operator, surface, holder)),
  })
  return [
    ...wanted.filter((surface) => !open.includes(surface)).map((surface) => change('open', surface)),
    ...open.filter((surface) => !wanted.includes(surface)).map((surface) => change('close', surface)),
  ]
}

async function alarmChanges(
  { alarmDestinations, operator }: Services,
  wanted: readonly AlarmEntry[],
  environment: NodeJS.ProcessEnv,
): Promise<Change[]> {
  const present = await alarmDestinations.list()
  const changes = wanted.flatMap(({ name, kind, target, url, ...entry }): Change[] => {
    const { minimum_severity: minimumSeverity = 'warning', enabled = true } = entry
    const found = present.find((other) => other.name === name && other.kind === kind)
    if (found) {
      const edit = differing({ minimumSeverity, enabled }, found)
      const make = () => done(alarmDestinations.change(operator, found.id, edit))
      return isEmpty(edit) ? [] : [{ text: `alarms to ${name}: ${describe(edit, found)}`, make }]
    }
    const given = {
      name,
      kind,
      target: referenced(target, environment),
      minimumSeverity,
      ...(url && { url }),
    }
    const create = async () => {
      const { id } = await alarmDestinations.create(operator, given)
      if (!enabled) await alarmDestinations.change(operator, id, { enabled })
    }
    const make = () => done(create())
    return [{ text: `alarms to ${name}: new, by ${kind}`, make }]
  })
  const removed = present.filter(
    (found) => !wanted.some(({ name, kind }) => name === found.name && kind === found.kind),
  )
  return [
    ...changes,
    ...removed.map(({ id, name }) => ({
      text: `alarms to ${name}: removed`,
      make: () => done(alarmDestinations.remove(operator, id)),
    })),
  ]
}

/** The text, or where it is `env:NAME` the value of the variable. */
function referenced(text: string, environment: NodeJS.ProcessEnv): string {
  if (!text.startsWith('env:')) return text
  const value = environment[text.slice(4)]
  if (!value) throw new UsageError(`${text.slice(4)} is not set in the environment`)
  return value
}

async function accountChanges(services: Services, entry: AccountEntry): Promise<Change[]> {
  const { directory, operator } = services
  const found = await findAccount(services, entry.account)
  /** Of an account that is new it is known once it is made. */
  const holder = { account: found }
  const changes: Change[] = []
  if (!found) {
    changes.push({
      text: `${entry.account}: new`,
      make: async () => {
        holder.account = await createAccount(services, entry)
        return undefined
      },
    })
  }
  const idOf = () => holder.account!.id
  const settings = found && settingsOf(found)
  const edit = differing(definedOf(entry, ACCOUNT_SETTINGS), settings ?? {})
  if (!isEmpty(edit))
    changes.push({
      text: `${entry.account}: ${describe(edit, settings ?? {})}`,
      make: () => done(changeAccount(services, idOf(), edit)),
    })
  if (entry.surfaces) {
    if (found) {
      const { account, surfaces } = entry
      changes.push(...(await surfaceChanges(services, account, surfaces, { accountId: found.id })))
    } else {
      for (const surface of entry.surfaces)
        changes.push({
          text: `${entry.account}: open ${surface}`,
          make: () => done(services.surfaceManagement.open(operator, surface, { accountId: idOf() })),
        })
    }
  }
  changes.push(...(await memberChanges(services, entry, found, idOf)))
  changes.push(...(await keyChanges(services, entry, found, idOf)))
  return changes

  async function createAccount(
    { accountManagement, organisations, auditLog }: Services,
    { account, owner }: AccountEntry,
  ): Promise<Account> {
    if (isEmailShaped(account))
      return accountManagement.create(operator, account, { kind: 'credit', amountPico: picoUsd(0n) })
    const person = owner === undefined ? null : await directory.find(owner)
    if (!person) throw new UsageError(`${account}: \`owner\` must be the email of an account`)
    const action = { action: 'organisation.create', target: account, details: { owner: person.id } }
    return auditLog.auditedAction(operator, action, () => organisations.create(account, person.id))
  }
}

/** By the email of a person, or the whole name of an organisation. */
async function findAccount({ directory }: Services, text: string): Promise<Account | null> {
  const byEmail = await directory.find(text)
  if (byEmail) return byEmail
  const page = await directory.page({ search: text, after: null, limit: NAMED_MAX })
  const named = page.filter((account) => accountName(account) === text && account.deletedAt === null)
  if (named.length > 1) throw new UsageError(`${named.length} accounts are called ${text}; name it by its id`)
  return named[0] ?? null
}

const NAMED_MAX = 1_000
const ACCOUNT_SETTINGS = [
  'requests_per_minute',
  'concurrent_calls',
  'spend_cap_usd',
  'low_balance_usd',
] as const

const settingsOf = (account: Account) => ({
  requests_per_minute: account.requestsPerMinute,
  concurrent_calls: account.concurrentCalls,
  spend_cap_usd: formatUsdOrNull(account.monthlyLimitPico),
  low_balance_usd: formatUsdOrNull(account.lowBalancePico),
})

async function changeAccount(
  { accountManagement, monthlyBudgets, auditLog, operator }: Services,
  id: string,
  edit: Partial<ReturnType<typeof settingsOf>>,
): Promise<void> {
  const { requests_per_minute, concurrent_calls, spend_cap_usd, low_balance_usd } = edit
  if (requests_per_minute !== undefined || concurrent_calls !== undefined)
    await accountManagement.setLimits(operator, id, {
      ...(requests_per_minute !== undefined && { requestsPerMinute: requests_per_minute }),
      ...(concurrent_calls !== undefined && { concurrentCalls: concurrent_calls }),
    })
  if (low_balance_usd !== undefined)
    await accountManagement.setLowBalance(operator, id, readUsdOrNull(low_balance_usd))
  if (spend_cap_usd !== undefined) {
    const action = { action: 'account.spend-cap', target: id, details: { spend_cap_usd } }
    const set = () => monthlyBudgets.setSpendCap(id, readUsdOrNull(spend_cap_usd))
    await auditLog.auditedAction(operator, action, set)
  }
}

const readUsdOrNull = (text: string | null): PicoUsd | null => (text === null ? null : parseUsd(text))

const NEW_ROLE = 'developer'

async function memberChanges(
  services: Services,
  { account, owner, members: wanted = [] }: AccountEntry,
  found: Account | null,
  idOf: () => string,
): Promise<Change[]> {
  const { members, monthlyBudgets, auditLog, operator, postgres } = services
  if (wanted.length > 0 && found && isPerson(found))
    throw new UsageError(`${account} is a person; only organisations have members`)
  const invitations = createInvitationStore(postgres, createEmailTokenStore(postgres))
  const present = found ? await members.list(found.id) : []
  const invited = found ? await invitations.list(found.id) : []
  const change = (
    text: string,
    action: string,
    details: AuditedAction['details'],
    run: () => Promise<unknown>,
  ): Change => ({
    text: `${account}: ${text}`,
    make: () => done(auditLog.auditedAction(operator, { action, target: idOf(), details }, run)),
  })
  return wanted.flatMap(({ email, role, monthly_budget_usd }): Change[] => {
    const member = present.find((other) => other.email === email)
    if (!member) {
      const isThere = found ? invited.some((other) => other.email === email) : email === owner
      if (isThere) return []
      return [
        change(
          `invite ${email} as ${role ?? NEW_ROLE}`,
          'organisation.invite',
          { email, role: role ?? NEW_ROLE },
          async () => {
            const inviter = (await members.list(idOf())).find((other) => other.role === 'owner')
            await invitations.create(idOf(), inviter!.personId, email, role ?? NEW_ROLE)
          },
        ),
      ]
    }
    const { personId } = member
    const budget = formatUsdOrNull(member.monthlyBudgetPico)
    return [
      ...(role === undefined || member.role === role
        ? []
        : [
            change(`${email}: role ${member.role} → ${role}`, 'organisation.role', { email, role }, () =>
              members.setRole(idOf(), personId, role),
            ),
          ]),
      ...(monthly_budget_usd === undefined || sameUsd(monthly_budget_usd, budget)
        ? []
        : [
            change(
              `${email}: monthly_budget_usd ${budget} → ${monthly_budget_usd}`,
              'organisation.budget',
              { email, monthly_budget_usd },
              () => monthlyBudgets.setMemberBudget(idOf(), personId, readUsdOrNull(monthly_budget_usd)),
            ),
          ]),
    ]
  })
}

type StoredKeys = Awaited<ReturnType<Services['keys']['list']>>
type KeySettings = Omit<Required<KeyEntry>, 'name'>

const KEY_SETTINGS = [
  'limit_usd',
  'limit_reset',
  'expires_at',
  'requests_per_minute',
  'concurrent_calls',
  'models',
  'providers',
  'scopes',
] as const

const NEW_KEY: KeySettings = {
  ...{ limit_usd: null, limit_reset: 'none', expires_at: null },
  ...{ requests_per_minute: null, concurrent_calls: null, models: [], providers: [], scopes: [] },
}

const keySettingsOf = (key: StoredKeys[number]): KeySettings => ({
  limit_usd: formatUsdOrNull(key.limitPico),
  limit_reset: key.limitReset,
  expires_at: key.expiresAt?.toISOString() ?? null,
  requests_per_minute: key.requestsPerMinute,
  concurrent_calls: key.concurrentCalls,
  models: key.allowedModels,
  providers: key.allowedProviders,
  scopes: key.scopes as KeySettings['scopes'],
})

/** As the key store takes them. */
const storedSettings = (given: KeySettings) => ({
  limitPico: readUsdOrNull(given.limit_usd),
  limitReset: given.limit_reset,
  expiresAt: given.expires_at === null ? null : new Date(given.expires_at),
  requestsPerMinute: given.requests_per_minute,
  concurrentCalls: given.concurrent_calls,
  allowedModels: given.models,
  allowedProviders: given.providers,
  scopes: given.scopes,
})

async function keyChanges(
  { keys, keyManagement, operator }: Services,
  { account, keys: wanted = [] }: AccountEntry,
  found: Account | null,
  idOf: () => string,
): Promise<Change[]> {
  const present = found ? (await keys.list(found.id)).filter(({ state }) => state === 'active') : []
  return wanted.flatMap(({ name, ...entry }): Change[] => {
    const given = definedOf(entry, KEY_SETTINGS)
    const [key, another] = present.filter((other) => other.name === name)
    if (another) throw new UsageError(`${account} has several keys called ${name}`)
    if (!key) {
      const make = async () => {
        const settings = { name, ...storedSettings({ ...NEW_KEY, ...given }) }
        return (await keyManagement.create(operator, idOf(), settings)).secret
      }
      return [{ text: `${account}: key ${name}: new`, make }]
    }
    const before = keySettingsOf(key)
    const edit = differing(given, before)
    const after = storedSettings({ ...before, ...edit })
    const make = () => done(keyManagement.setLimits(operator, key, differing(after, key)))
    return isEmpty(edit) ? [] : [{ text: `${account}: key ${name}: ${describe(edit, before)}`, make }]
  })
}

async function accountEntry(services: Services, account: Account): Promise<AccountEntry> {
  const { keys, members, surfaceManagement } = services
  const grants = await surfaceManagement.list({ accountId: account.id })
  return {
    account: accountName(account),
    ...settingsOf(account),
    surfaces: grants.map(({ surface }) => surface),
    members: (await members.list(account.id)).map(({ email, role, monthlyBudgetPico }) => ({
      ...{ email, role },
      monthly_budget_usd: formatUsdOrNull(monthlyBudgetPico),
    })),
    keys: (await keys.list(account.id))
      .filter(({ state }) => state === 'active')
      .map((key) => ({ name: key.name, ...keySettingsOf(key) })),
  }
}

const isEmpty = (edit: object) => Object.keys(edit).length === 0

/** The members of an entry that it has. */
const definedOf = <Entry extends object, Name extends keyof Entry>(entry: Entry, names: readonly Name[]) =>
  Object.fromEntries(
    names.filter((name) => entry[name] !== undefined).map((name) => [name, entry[name]]),
  ) as { [Given in Name]?: Exclude<Entry[Given], undefined> }

/** Of the members that are wanted those that are not so yet. */
const differing = <Wanted extends object>(wanted: Wanted, present: object): Partial<Wanted> =>
  Object.fromEntries(
    Object.entries(wanted).filter(
      ([name, value]) => !isSame(value, (present as Record<string, unknown>)[name] ?? null),
    ),
  ) as Partial<Wanted>

/** Amounts and times are the same whatever their form is: `5` and `5.00`. */
const isSame = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(one, other) ||
  (typeof one === 'string' && typeof other === 'string' && (sameUsd(one, other) || sameTime(one, other)))

const AMOUNT = /^\d+(\.\d+)?$/
const sameUsd = (one: string | null, other: string | null): boolean =>
  one === other ||
  ([one, other].every((text) => text !== null && AMOUNT.test(text)) && parseUsd(one!) === parseUsd(other!))
const sameTime = (one: string, other: string): boolean =>
  new Date(one).getTime() === new Date(other).getTime()

const shown = (value: unknown) => (Array.isArray(value) ? `[${value.join(', ')}]` : String(value ?? 'none'))
const describe = (edit: object, before: object): string =>
  Object.entries(edit)
    .map(([name, value]) => `${name} ${shown((before as Record<string, unknown>)[name])} → ${shown(value)}`)
    .join(', ')
