import { type Account, accountName, isPerson } from '../../accounts/account-store.ts'
import { createEmailTokenStore } from '../../accounts/email-token-store.ts'
import { type SignInRules, setSignInRules } from '../../accounts/identity/sign-in-rules.ts'
import { importedKeyId } from '../../accounts/key-hash.ts'
import { createInvitationStore } from '../../accounts/organisation/invitation-store.ts'
import { isEmailShaped } from '../../core/kernel/email-address.ts'
import { formatUsdOrNull, type PicoUsd, parseUsd, picoUsd } from '../../core/kernel/money.ts'
import type { AuditedAction } from '../../operators/audit-log.ts'
import { UsageError } from '../run-command.ts'
import { budgetChanges, budgetEntries } from './budget-changes.ts'
import {
  type Change,
  definedOf,
  describe,
  differing,
  done,
  isEmpty,
  type PlanServices as Services,
  sameUsd,
} from './difference.ts'
import type { AccountEntry, KeyEntry } from './gateway-document.ts'
import { guardrailChanges, guardrailEntries } from './guardrail-changes.ts'
import { surfaceChanges } from './surface-changes.ts'

/** What an entry would change of its account, its members and its keys. */
export async function accountChanges(
  services: Services,
  entry: AccountEntry,
  environment: NodeJS.ProcessEnv,
): Promise<Change[]> {
  const { directory, operator } = services
  if (entry.sign_in && isEmailShaped(entry.account))
    throw new UsageError(`${entry.account} is a person; only organisations have members`)
  const found = await findAccount(services, entry.account)
  /** Of an account that is new it is known once it is made. */
  const holder = { account: found }
  const changes: Change[] = []
  if (!found) {
    const credit = entry.opening_credit_usd
    changes.push({
      text: `${entry.account}: new${credit === undefined ? '' : `, with a balance of ${credit}`}`,
      make: async () => {
        holder.account = await createAccount(services, entry)
        const amountPico = parseUsd(credit ?? '0')
        if (amountPico > 0n) await services.accountManagement.credit(operator, holder.account.id, amountPico)
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
  changes.push(...(await budgetChanges(services, entry, found, idOf)))
  changes.push(...(await keyChanges(services, entry, found, idOf)))
  changes.push(...(await guardrailChanges(services, entry, found, { idOf, environment })))
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
  'sign_in',
] as const

const settingsOf = (account: Account) => ({
  requests_per_minute: account.requestsPerMinute,
  concurrent_calls: account.concurrentCalls,
  spend_cap_usd: formatUsdOrNull(account.monthlyLimitPico),
  low_balance_usd: formatUsdOrNull(account.lowBalancePico),
  sign_in: account.signIn as SignInRules | null,
})

async function changeAccount(
  { accountManagement, monthlyBudgets, auditLog, operator, postgres }: Services,
  id: string,
  edit: Partial<ReturnType<typeof settingsOf>>,
): Promise<void> {
  const { requests_per_minute, concurrent_calls, spend_cap_usd, low_balance_usd, sign_in } = edit
  if (requests_per_minute !== undefined || concurrent_calls !== undefined)
    await accountManagement.setLimits(operator, id, {
      ...(requests_per_minute !== undefined && { requestsPerMinute: requests_per_minute }),
      ...(concurrent_calls !== undefined && { concurrentCalls: concurrent_calls }),
    })
  if (low_balance_usd !== undefined)
    await accountManagement.setLowBalance(operator, id, readUsdOrNull(low_balance_usd))
  if (sign_in !== undefined) {
    const action = {
      action: 'organisation.sign-in',
      target: id,
      details: { sign_in: JSON.stringify(sign_in) },
    }
    await auditLog.auditedAction(operator, action, () => setSignInRules(postgres, id, sign_in))
  }
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
type KeySettings = Omit<Required<KeyEntry>, 'name' | 'sha256'>

const KEY_SETTINGS = [
  'limit_usd',
  'limit_reset',
  'expires_at',
  'requests_per_minute',
  'concurrent_calls',
  'models',
  'providers',
  'scopes',
  'project',
  'paused',
] as const

const NEW_KEY: KeySettings = {
  ...{ limit_usd: null, limit_reset: 'none', expires_at: null },
  ...{ requests_per_minute: null, concurrent_calls: null, models: [], providers: [], scopes: [] },
  ...{ project: null, paused: false },
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
  project: key.project,
  paused: key.pausedAt !== null,
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
  project: given.project,
})

async function keyChanges(
  { keys, keyManagement, groupBudgets, operator }: Services,
  { account, keys: wanted = [] }: AccountEntry,
  found: Account | null,
  idOf: () => string,
): Promise<Change[]> {
  const all = found ? await keys.list(found.id) : []
  const present = all.filter(({ state }) => state === 'active')
  return wanted.flatMap(({ name, ...entry }): Change[] => {
    const given = definedOf(entry, KEY_SETTINGS)
    const hash = entry.sha256 === undefined ? undefined : new Uint8Array(Buffer.from(entry.sha256, 'hex'))
    const imported = hash && all.find(({ id }) => id === importedKeyId(hash))
    // It was revoked here since.
    if (imported?.state === 'revoked') return []
    const [key, another] = imported ? [imported] : present.filter((other) => other.name === name)
    if (another) throw new UsageError(`${account} has several keys called ${name}`)
    if (!key) {
      const make = async () => {
        const settings = { name, ...storedSettings({ ...NEW_KEY, ...given }) }
        await groupBudgets.expectProject(idOf(), settings.project)
        const made = hash
          ? { key: await keyManagement.adopt(operator, idOf(), settings, hash), secret: undefined }
          : await keyManagement.create(operator, idOf(), settings)
        if (given.paused) await keyManagement.pause(operator, made.key)
        return made.secret
      }
      return [{ text: `${account}: key ${name}: new${entry.sha256 ? ', with the secret it has' : ''}`, make }]
    }
    const before = { name: key.name, ...keySettingsOf(key) }
    const edit = differing({ name, ...given }, before)
    const after = { name, ...storedSettings({ ...before, ...edit }) }
    const make = async () => {
      await groupBudgets.expectProject(idOf(), after.project)
      const limits = differing(after, key)
      if (!isEmpty(limits)) await keyManagement.setLimits(operator, key, limits)
      if (edit.paused !== undefined) await keyManagement[edit.paused ? 'pause' : 'resume'](operator, key)
      return undefined
    }
    return isEmpty(edit) ? [] : [{ text: `${account}: key ${name}: ${describe(edit, before)}`, make }]
  })
}

export async function accountEntry(services: Services, account: Account): Promise<AccountEntry> {
  const { members, surfaceManagement } = services
  const keys = (await services.keys.list(account.id)).filter(({ state }) => state === 'active')
  const grants = await surfaceManagement.list({ accountId: account.id })
  return {
    account: accountName(account),
    ...settingsOf(account),
    surfaces: grants.map(({ surface }) => surface),
    members: (await members.list(account.id)).map(({ email, role, monthlyBudgetPico }) => ({
      ...{ email, role },
      monthly_budget_usd: formatUsdOrNull(monthlyBudgetPico),
    })),
    budgets: await budgetEntries(services, account.id),
    keys: keys.map((key) => ({ name: key.name, ...keySettingsOf(key) })),
    guardrails: await guardrailEntries(services, account.id),
  }
}
