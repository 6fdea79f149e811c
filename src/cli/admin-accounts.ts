import { isEmailShaped } from '../core/kernel/email-address.ts'
import { formatUsd } from '../core/kernel/money.ts'
import { accountView } from '../http/admin/account-routes.ts'
import type { AdminCommands, AdminContext } from './admin-command.ts'
import { readUsd } from './command-input.ts'
import { named, one, UsageError, withSecret } from './run-command.ts'

const LISTED_ACCOUNTS = 100

const view = (account: Parameters<typeof accountView>[0]) => named('account_id', accountView(account))

const find = async ({ accountManagement, input }: AdminContext) => {
  if (!input.account) throw new UsageError('name the account by its id or email')
  return accountManagement.find(input.account)
}

/** `--amount`, `--credit`, or the argument after the account. */
const amountOf = ({ input }: AdminContext) =>
  input.option('amount') ?? input.option('credit') ?? input.arguments[1]

export const accountCommands: AdminCommands = {
  async 'account create'(context) {
    const { accountManagement, operator, input, config } = context
    // NFKC characters: sign-in looks the email up in this form.
    const email = (input.option('email') ?? '').normalize('NFKC')
    if (!isEmailShaped(email)) throw new UsageError('--email needs an email address')
    const amount = amountOf(context)
    const credit =
      amount === undefined
        ? ({
            kind: 'free_credit',
            amountPico: readUsd('FREE_CREDIT_USD', config.freeCreditUsd, 'zero-or-more'),
          } as const)
        : ({ kind: 'credit', amountPico: readUsd('--credit', amount, 'zero-or-more') } as const)
    return one(view(await accountManagement.create(operator, email, credit)))
  },

  async 'account list'({ directory, input }) {
    const limit = input.count('limit') ?? LISTED_ACCOUNTS
    const found = await directory.page({ search: input.account ?? null, after: null, limit: limit + 1 })
    const accounts = found.slice(0, limit).map(view)
    const rows = accounts.map(
      ({ account_id, name, state, balance_usd }) => `${account_id}  ${state}  ${balance_usd}  ${name}`,
    )
    const hasMore = found.length > limit
    if (hasMore) rows.push(`More than ${limit}: narrow it down, or raise --limit.`)
    return { data: { accounts, has_more: hasMore }, text: rows.join('\n') || 'There are no such accounts.' }
  },

  async 'account show'(context) {
    const account = await find(context)
    // The ledger is shown while Redis is unavailable.
    const held = await context.holds.balance(account.id).catch(() => null)
    return one({
      ...view(account),
      available_usd: held && formatUsd(held.availPico ?? account.balancePico),
      held_usd: held && formatUsd(held.heldPico),
    })
  },

  async 'account credit'(context) {
    const { accountManagement, operator, input } = context
    const { id } = await find(context)
    const amountPico = readUsd('--amount', amountOf(context))
    const credited = await accountManagement.credit(operator, id, amountPico, input.option('reference'))
    const { account, reference, isSpendable } = credited
    return one({ ...view(account), reference, spendable_now: isSpendable })
  },

  /** Corrects a balance with a new ledger entry; posted entries do not change. */
  async 'account adjust'(context) {
    const { accountManagement, operator, input } = context
    const account = await find(context)
    const reason = input.required('reason', 'must state the reason, which the ledger shows').trim()
    const amountPico = readUsd('--amount', amountOf(context), 'signed')
    const adjustment = { accountId: account.id, amountPico, reason }
    const adjusted = await accountManagement.adjust(operator, adjustment, input.option('reference'))
    return one({
      ...view(await accountManagement.find(account.id)),
      adjusted_usd: formatUsd(adjusted.posted ? amountPico : 0n),
      reference: adjusted.reference,
      spendable_now: adjusted.isSpendable,
    })
  },

  /** Sets the balance below which the account receives `balance.low`. */
  async 'account alert'(context) {
    const below = context.input.required('below', 'needs an amount in USD, or never')
    const { id } = await find(context)
    const lowBalancePico = below === 'never' ? null : readUsd('--below', below, 'zero-or-more')
    return one(view(await context.accountManagement.setLowBalance(context.operator, id, lowBalancePico)))
  },

  async 'account limits'(context) {
    const requestsPerMinute = context.input.countOrDefault('rpm')
    const concurrentCalls = context.input.countOrDefault('concurrency')
    if (requestsPerMinute === undefined && concurrentCalls === undefined)
      throw new UsageError('--rpm and --concurrency take a whole number, or default')
    const { id } = await find(context)
    const limits = {
      ...(requestsPerMinute !== undefined && { requestsPerMinute }),
      ...(concurrentCalls !== undefined && { concurrentCalls }),
    }
    return one(view(await context.accountManagement.setLimits(context.operator, id, limits)))
  },

  /** The password is generated and shown once, so that none is in a shell's history. */
  async 'account set-password'(context) {
    const { id, email } = await find(context)
    const password = await context.accountManagement.setPassword(context.operator, id)
    const note = 'This is the only time the password is shown. Its holder signs in with it and changes it.'
    return withSecret('password', password, note, { account_id: id, email })
  },

  /** For a holder who lost the app, passkeys and recovery codes and proved their identity by other means. */
  async 'account reset-second-factor'(context) {
    const { id, email } = await find(context)
    await context.accountManagement.resetSecondFactor(context.operator, id)
    return one({ account_id: id, email })
  },

  async 'account suspend'(context) {
    const { accountManagement, operator, input } = context
    const { id } = await find(context)
    return one(view(await accountManagement.suspend(operator, id, input.option('reason'))))
  },

  async 'account resume'(context) {
    const { accountManagement, operator, input } = context
    const { id } = await find(context)
    return one(view(await accountManagement.resume(operator, id, input.option('reason'))))
  },
}
