import type { MovementKind, PaymentRailName } from '../billing/postings.ts'
import { customerAccount, type LedgerEntry, type Posting, receivableAccount } from '../billing/postings.ts'
import { lesserOf, type PicoUsd, picoUsd } from '../kernel/money.ts'
import type { PaymentAmounts } from './payment.ts'

export interface Movement {
  kind: MovementKind
  amountPico: PicoUsd
}

/** The effect of a movement on the customer. */
export type MovementDirection = 'gives' | 'takes' | 'neither'

const DIRECTIONS: Record<MovementKind, MovementDirection> = {
  topup: 'gives',
  refund: 'takes',
  refund_reversal: 'gives',
  dispute: 'takes',
  dispute_won: 'gives',
  dispute_lost: 'neither',
}

export const movementDirection = ({ kind }: Movement): MovementDirection => DIRECTIONS[kind]

/** The movements from the posted amounts of a payment to its current ones. */
export function paymentMovements(posted: PaymentAmounts, target: PaymentAmounts): Movement[] {
  const movements: Movement[] = []
  const move = (kind: MovementKind, amount: bigint) => {
    if (amount > 0n) movements.push({ kind, amountPico: picoUsd(amount) })
  }
  const returned = target.returnedPico - posted.returnedPico
  const disputed = target.disputedPico - posted.disputedPico
  // Money that leaves both the dispute and the gateway was lost in it.
  const lost = returned > 0n && disputed < 0n ? lesserOf(returned, -disputed) : 0n
  move('topup', target.settledPico - posted.settledPico)
  move('dispute_lost', lost)
  move('refund_reversal', -returned)
  move('dispute_won', -disputed - lost)
  move('refund', returned - lost)
  move('dispute', disputed)
  return movements
}

/** The funds of an account that a movement may change. Amounts of 0 or more. */
export interface AccountFunds {
  /** Not held by running calls. */
  spendablePico: bigint
  /** The customer's debt from earlier movements. */
  owedPico: bigint
}

/**
 * The posting of a movement. A deduction beyond the spendable balance becomes a debt of the customer, never a balance
 * below zero; an addition pays debts first.
 */
export function movementPosting(
  movement: Movement,
  to: { id: string; accountId: string; rail: PaymentRailName },
  funds: AccountFunds,
): Posting {
  const { kind, amountPico } = movement
  const rail = `rail:${to.rail}` as const
  const entries: LedgerEntry[] = []
  const entry = (ledgerAccount: LedgerEntry['ledgerAccount'], amount: bigint) => {
    if (amount !== 0n) entries.push({ ledgerAccount, amountPico: amount })
  }
  const direction = DIRECTIONS[kind]
  if (direction === 'takes') {
    const taken = lesserOf(amountPico, funds.spendablePico)
    entry(customerAccount(to.accountId), -taken)
    entry(receivableAccount(to.accountId), taken - amountPico)
  } else if (direction === 'gives') {
    const repaid = lesserOf(amountPico, funds.owedPico)
    entry(customerAccount(to.accountId), amountPico - repaid)
    entry(receivableAccount(to.accountId), repaid)
  }
  switch (kind) {
    case 'topup':
    case 'refund_reversal':
      entry(rail, -amountPico)
      break
    case 'refund':
      entry(rail, amountPico)
      break
    case 'dispute':
      entry('disputes', amountPico)
      break
    case 'dispute_won':
      entry('disputes', -amountPico)
      break
    case 'dispute_lost':
      entry('disputes', -amountPico)
      entry(rail, amountPico)
      break
    default:
      kind satisfies never
  }
  return { id: to.id, kind, accountId: to.accountId, entries }
}

/** A payment of debt from a balance that has become available. */
export const collectionPosting = (id: string, accountId: string, amountPico: PicoUsd): Posting => ({
  id,
  kind: 'collection',
  accountId,
  entries: [
    { ledgerAccount: customerAccount(accountId), amountPico: -amountPico },
    { ledgerAccount: receivableAccount(accountId), amountPico },
  ],
})

/** The change of the customer's debt by a posting; negative when a debt is paid. */
export function debtChange(posting: Posting): bigint {
  const own = receivableAccount(posting.accountId)
  return posting.entries
    .filter((entry) => entry.ledgerAccount === own)
    .reduce((change, entry) => change - entry.amountPico, 0n)
}

/** The amounts of a payment after a movement is posted. */
export function afterMovement(amounts: PaymentAmounts, { kind, amountPico }: Movement): PaymentAmounts {
  const { settledPico, returnedPico, disputedPico } = amounts
  const moved = (settled: bigint, returned: bigint, disputed: bigint): PaymentAmounts => ({
    settledPico: picoUsd(settledPico + settled),
    returnedPico: picoUsd(returnedPico + returned),
    disputedPico: picoUsd(disputedPico + disputed),
  })
  switch (kind) {
    case 'topup':
      return moved(amountPico, 0n, 0n)
    case 'refund':
      return moved(0n, amountPico, 0n)
    case 'refund_reversal':
      return moved(0n, -amountPico, 0n)
    case 'dispute':
      return moved(0n, 0n, amountPico)
    case 'dispute_won':
      return moved(0n, 0n, -amountPico)
    case 'dispute_lost':
      return moved(0n, amountPico, -amountPico)
    default:
      return kind satisfies never
  }
}
