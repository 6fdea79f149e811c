import { createAccountDirectory } from '../accounts/account-directory.ts'
import { createAccountStore } from '../accounts/account-store.ts'
import { createHoldGate } from '../billing/holds/hold-gate.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import type { Config } from '../config.ts'
import { isEmailShaped } from '../core/kernel/email-address.ts'
import { newId } from '../core/kernel/ids.ts'
import { isDuplicate } from '../platform/postgres/postgres.ts'
import { announceKeyChange } from '../platform/redis/key-changes.ts'
import type { CommandClients } from './clients.ts'
import { readAmount, readCount } from './read-options.ts'
import { type CommandOutput, UsageError } from './run-command.ts'
import { accountView, lines, usd } from './views.ts'

export interface AccountArguments {
  /** The account's id or email. */
  account: string | undefined
  email: string | undefined
  amount: string | undefined
  reference: string | undefined
  /** An amount in USD, or `never`. */
  below?: string | undefined
  /** Whole numbers, or `default`. */
  rpm?: string | undefined
  concurrency?: string | undefined
  limit?: string | undefined
}

const LISTED_ACCOUNTS = 100

/** `admin account create|list|show|credit|alert|limits|suspend|resume`. */
export function accountCommands(clients: CommandClients, config: Config) {
  const accounts = createAccountStore(
    clients.postgres,
    postLedger,
    readAmount('LOW_BALANCE_USD', config.lowBalanceUsd),
  )

  const find = async (idOrEmail: string | undefined) => {
    if (!idOrEmail) throw new UsageError('name the account: its id or its email')
    const account = await accounts.find(idOrEmail)
    if (!account) throw new Error(`there is no account ${idOrEmail}`)
    return account
  }

  return {
    async create({ email: given = '', amount }: AccountArguments): Promise<CommandOutput> {
      // As it was written, but in compatible characters: those who sign in are found by them.
      const email = given.normalize('NFKC')
      if (!isEmailShaped(email)) throw new UsageError('--email needs an email address')
      const credit =
        amount === undefined
          ? { kind: 'free_credit' as const, amountPico: readAmount('FREE_CREDIT_USD', config.freeCreditUsd) }
          : { kind: 'credit' as const, amountPico: readAmount('--credit', amount) }
      try {
        return say(accountView(await accounts.create(email, credit)))
      } catch (error) {
        if (isDuplicate(error)) throw new Error(`${email} has an account already`, { cause: error })
        throw error
      }
    },

    /** Newest first. `account` is a part of the email, or the id. */
    async list({ account, limit: given }: AccountArguments): Promise<CommandOutput> {
      const limit = readCount('--limit', given) ?? LISTED_ACCOUNTS
      const found = await createAccountDirectory(clients.postgres).page({
        search: account ?? null,
        after: null,
        limit: limit + 1,
      })
      const views = found.slice(0, limit).map(accountView)
      const rows = views.map(
        ({ account_id, email, state, balance_usd }) => `${account_id}  ${state}  ${balance_usd}  ${email}`,
      )
      const hasMore = found.length > limit
      if (hasMore) rows.push(`More than ${limit}: narrow it down, or raise --limit.`)
      return {
        data: { accounts: views, has_more: hasMore },
        text: rows.join('\n') || 'There are no such accounts.',
      }
    },

    async show({ account }: AccountArguments): Promise<CommandOutput> {
      const found = await find(account)
      // Redis being away does not hide what the ledger knows.
      const gate = await createHoldGate(clients.redis())
        .figures(found.id)
        .catch(() => null)
      return say({
        ...accountView(found),
        available_usd: gate && usd(gate.availPico ?? found.balancePico),
        held_usd: gate && usd(gate.heldPico),
      })
    },

    async credit({ account, amount, reference }: AccountArguments): Promise<CommandOutput> {
      const { id } = await find(account)
      const amountPico = readAmount('--amount', amount ?? '')
      if (amountPico === 0n) throw new UsageError('--amount must be above zero')
      const eventId = reference ?? newId('evt')
      const credited = await accounts.credit(id, eventId, amountPico)
      // The credit stands. Should Redis be away, maintenance brings it there: trying again would credit twice.
      const spendable = await createHoldGate(clients.redis())
        .apply(id, credited, [])
        .then(
          () => true,
          () => false,
        )
      return say({ ...accountView(credited), reference: eventId, spendable_now: spendable })
    },

    /** When the account hears `balance.low`. */
    async alert({ account, below }: AccountArguments): Promise<CommandOutput> {
      if (below === undefined) throw new UsageError('--below needs an amount in USD, or never')
      const { id } = await find(account)
      const lowBalancePico = below === 'never' ? null : readAmount('--below', below)
      return say(accountView(await accounts.setLowBalance(id, lowBalancePico)))
    },

    /** Limits over all keys of the account. */
    async limits({ account, rpm, concurrency }: AccountArguments): Promise<CommandOutput> {
      if (rpm === undefined && concurrency === undefined)
        throw new UsageError('--rpm and --concurrency take a whole number, or default')
      const { id } = await find(account)
      const limited = await accounts.setLimits(id, {
        ...(rpm !== undefined && { requestsPerMinute: countOrDefault('--rpm', rpm) }),
        ...(concurrency !== undefined && { concurrentCalls: countOrDefault('--concurrency', concurrency) }),
      })
      await announceKeyChange(clients.redis(), { accountId: id })
      return say(accountView(limited))
    },

    async suspend({ account }: AccountArguments): Promise<CommandOutput> {
      const { id } = await find(account)
      const suspended = await accounts.suspend(id)
      await announceKeyChange(clients.redis(), { accountId: id })
      return say(accountView(suspended))
    },

    async resume({ account }: AccountArguments): Promise<CommandOutput> {
      const { id } = await find(account)
      const resumed = await accounts.resume(id)
      await announceKeyChange(clients.redis(), { accountId: id })
      return say(accountView(resumed))
    },
  }
}

/** Null for `default`. */
const countOrDefault = (name: string, text: string): number | null =>
  text === 'default' ? null : readCount(name, text)

const say = (view: Record<string, unknown>): CommandOutput => ({ data: view, text: lines(view) })
