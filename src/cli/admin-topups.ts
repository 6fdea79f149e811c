import pino from 'pino'
import { createAccountStore } from '../accounts/account-store.ts'
import { createHoldGate } from '../billing/holds/hold-gate.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import type { Config } from '../config.ts'
import { PAYMENT_RAILS, type PaymentRailName } from '../core/billing/payment-movements.ts'
import { PICO_PER_CENT } from '../core/billing/top-up-amount.ts'
import type { PicoUsd } from '../core/kernel/money.ts'
import { createTopUps, type TopUps } from '../payments/create-top-ups.ts'
import type { Payment } from '../payments/payment-store.ts'
import { reconcileReturns } from '../payments/reconcile-returns.ts'
import { announceKeyChange } from '../platform/redis/key-changes.ts'
import type { CommandClients } from './clients.ts'
import { readAmount, readCount } from './read-options.ts'
import { type CommandOutput, UsageError } from './run-command.ts'
import { lines, usd } from './views.ts'

export interface TopUpArguments {
  payment: string | undefined
  /** The account's id or email. */
  account: string | undefined
  amount: string | undefined
  rail: string | undefined
  limit: string | undefined
}

const LISTED = 50

/** `admin topup create|show|list|check|refund|reconcile`. */
export function topUpCommands(clients: CommandClients, config: Config) {
  const open = (): Promise<TopUps> => {
    const { postgres } = clients
    const redis = clients.redis()
    return createTopUps(config, {
      postgres,
      redis,
      gate: createHoldGate(redis),
      announceAccount: (accountId) => announceKeyChange(redis, { accountId }),
      // What goes wrong is the command's outcome; standard output carries its JSON.
      logger: pino({ level: 'silent' }),
      clock: Date.now,
    })
  }
  const accounts = createAccountStore(clients.postgres, postLedger)
  const accountIdOf = async (idOrEmail: string): Promise<string> => {
    const account = await accounts.find(idOrEmail)
    if (!account) throw new Error(`there is no account ${idOrEmail}`)
    return account.id
  }
  const find = async ({ payments }: TopUps, id: string | undefined): Promise<Payment> => {
    if (!id) throw new UsageError('name the top-up: its id, as in topup list')
    const payment = await payments.find(id)
    if (!payment) throw new Error(`there is no top-up ${id}`)
    return payment
  }

  return {
    async create({ account, amount, rail }: TopUpArguments): Promise<CommandOutput> {
      if (!account) throw new UsageError('--account needs the id or email of an account')
      const { service } = await open()
      const opening = await service.open(await accountIdOf(account), readRail(rail), readTopUp(amount))
      switch (opening.kind) {
        case 'opened':
          return say(opening.payment)
        case 'no_such_rail':
          throw new Error(`${rail} is not set up: see the payment settings`)
        case 'too_many_open':
          throw new Error(`the account has ${opening.max} unpaid top-ups`)
        case 'rail_failed':
          throw new Error(`${rail} opened no checkout: ${messageOf(opening.cause)}`)
        default:
          return opening satisfies never
      }
    },

    async show({ payment: id }: TopUpArguments): Promise<CommandOutput> {
      const topUps = await open()
      const payment = await find(topUps, id)
      const events = (await topUps.events.list(payment.id)).map((event) => ({
        at: event.receivedAt.toISOString(),
        id: event.id,
        type: event.type,
        outcome: event.outcome ?? 'waiting',
        detail: event.detail,
      }))
      const suspensions = await clients.postgres.accountSuspension.findMany({
        where: { paymentId: payment.id },
        orderBy: { createdAt: 'asc' },
      })
      const suspended = suspensions.map(({ createdAt, reason, shortfallPico }) => ({
        at: createdAt.toISOString(),
        reason,
        shortfall_usd: usd(shortfallPico),
      }))
      const view = topUpView(payment)
      const told = events.map(({ at, type, outcome }) => `${at}  ${type}  ${outcome}`)
      const fate = suspended.map(({ at, reason }) => `${at}  account suspended: ${reason}`)
      return {
        data: { ...view, events, suspensions: suspended },
        text: [lines(view), ...told, ...fate].join('\n'),
      }
    },

    async list({ account, limit }: TopUpArguments): Promise<CommandOutput> {
      const { payments } = await open()
      const found = await payments.list({
        ...(account !== undefined && { accountId: await accountIdOf(account) }),
        limit: readCount('--limit', limit) ?? LISTED,
      })
      const views = found.map(topUpView)
      const text = views.map((view) => lines(view)).join('\n\n')
      return { data: { topups: views }, text: text || 'There are no top-ups.' }
    },

    /** Asks the rail how a payment stands, instead of waiting for its webhook. */
    async check({ payment: id }: TopUpArguments): Promise<CommandOutput> {
      const topUps = await open()
      return say(await topUps.service.check(await find(topUps, id)))
    },

    /** Lists what the rails gave back and what is contested, and posts what webhooks missed of it. */
    async reconcile(): Promise<CommandOutput> {
      const topUps = await open()
      const deps = { ...topUps, topUps: topUps.service, logger: pino({ level: 'silent' }) }
      const { missed, ...counts } = await reconcileReturns(deps, Date.now())
      const views = missed.map(topUpView)
      const failed = counts.failures > 0
      const said = [
        `${counts.checked} refunds and disputes compared, ${views.length} top-ups changed.`,
        ...(failed ? [`${counts.failures} lists of rails could not be read to their end.`] : []),
        ...views.map((view) => `\n${lines(view)}`),
      ]
      return { data: { ...counts, missed: views }, text: said.join('\n'), failed }
    },

    async refund({ payment: id, amount }: TopUpArguments): Promise<CommandOutput> {
      const topUps = await open()
      const payment = await find(topUps, id)
      const amountPico = amount === undefined ? null : readTopUp(amount)
      const refund = await topUps.service.refund(payment.id, amountPico)
      switch (refund.kind) {
        case 'refunded':
          return say(refund.payment)
        case 'too_much':
          throw new Error(`${usd(refund.leftPico)} USD of this top-up can be refunded`)
        case 'refused':
          throw new Error(`nothing was refunded: ${refund.reason}. The same command tries again.`)
        case 'no_such_rail':
          throw new Error(`${payment.rail} is not set up: see the payment settings`)
        case 'no_such_payment':
          throw new Error(`there is no top-up ${id}`)
        default:
          return refund satisfies never
      }
    },
  }
}

const topUpView = (payment: Payment) => ({
  payment_id: payment.id,
  account_id: payment.accountId,
  rail: payment.rail,
  test: payment.rail === 'development',
  state: payment.state,
  amount_usd: usd(payment.amountPico),
  refunded_usd: usd(payment.returnedPico),
  disputed_usd: usd(payment.disputedPico),
  checkout_url: payment.state === 'pending' ? payment.checkoutUrl : null,
  checkout_id: payment.checkoutId,
  charge_id: payment.chargeId,
  failure_reason: payment.failureReason,
  created_at: payment.createdAt.toISOString(),
  settled_at: payment.settledAt?.toISOString() ?? null,
})

function say(payment: Payment): CommandOutput {
  const view = topUpView(payment)
  return { data: view, text: lines(view) }
}

/** A rail by its own name; `card` is Stripe's. */
function readRail(text: string | undefined): PaymentRailName {
  const rail = PAYMENT_RAILS.find((known) => known === (text === 'card' ? 'stripe' : text))
  if (!rail) throw new UsageError(`--rail must be one of card, ${PAYMENT_RAILS.join(', ')}`)
  return rail
}

function readTopUp(text: string | undefined): PicoUsd {
  const amountPico = readAmount('--amount', text ?? '')
  if (amountPico === 0n || amountPico % PICO_PER_CENT !== 0n)
    throw new UsageError('--amount must be above zero, in whole cents')
  return amountPico
}

const messageOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))
