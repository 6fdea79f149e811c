import { createAccountStore } from '../accounts/account-store.ts'
import { createHoldGate } from '../billing/holds/hold-gate.ts'
import { createReserveTakeback } from '../billing/holds/takeback-hold.ts'
import { adjustBalance } from '../billing/ledger/adjust-balance.ts'
import { postLedger } from '../billing/ledger/ledger-store.ts'
import { newId } from '../core/kernel/ids.ts'
import type { CommandClients } from './clients.ts'
import { readSignedAmount } from './read-options.ts'
import { type CommandOutput, UsageError } from './run-command.ts'
import { accountView, lines, usd } from './views.ts'

export interface AdjustArguments {
  /** The account's id or email. */
  account: string | undefined
  /** USD, signed. */
  amount: string | undefined
  reason: string | undefined
  reference: string | undefined
}

/** `admin account adjust`: corrects a balance by a new ledger entry; nothing that was posted is changed. */
export async function adjustAccount(
  clients: CommandClients,
  { account, amount, reason, reference }: AdjustArguments,
): Promise<CommandOutput> {
  if (!account) throw new UsageError('name the account: its id or its email')
  if (!reason?.trim()) throw new UsageError('--reason says why, for whoever reads the books')
  const amountPico = readSignedAmount('--amount', amount ?? '')
  if (amountPico === 0n) throw new UsageError('--amount must not be zero')
  const { postgres } = clients
  const accounts = createAccountStore(postgres, postLedger)
  const found = await accounts.find(account)
  if (!found) throw new Error(`there is no account ${account}`)

  const redis = clients.redis()
  const gate = createHoldGate(redis)
  const eventId = reference ?? newId('evt')
  const adjusted = await adjustBalance(
    { accountId: found.id, eventId, amountPico, reason: reason.trim() },
    { postgres, gate, reserveTakeback: createReserveTakeback(redis, gate, Date.now) },
  )
  const view = {
    ...accountView((await accounts.find(found.id)) ?? found),
    adjusted_usd: usd(adjusted.posted ? amountPico : 0n),
    reference: eventId,
    spendable_now: adjusted.isSpendable,
  }
  return { data: view, text: lines(view) }
}
