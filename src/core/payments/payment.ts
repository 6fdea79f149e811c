import { greaterOf, lesserOf, type PicoUsd, picoUsd } from '../kernel/money.ts'

/**
 * A top-up payment, as the set of facts that its rail has reported.
 *
 * created   we have written it down; no checkout is known yet
 * pending   the customer can pay, or has paid and the rail is still working on it
 * settled   the money is in: the only step that fills a balance
 * failed    the rail refused it, or no checkout could be opened
 * expired   not paid in time
 * refunded  settled, and some or all of it went back
 * disputed  settled, and the customer's bank contests it or has taken it back
 *
 *     created ──▶ pending ──▶ settled ──▶ refunded, disputed
 *        └──────────┴──▶ failed, expired ──▶ settled (paid at the last moment: money that is in is in)
 *
 * Rails report facts late, twice and out of order. So there are no transitions: the state is computed from
 * the set of all facts, each of which names what it is about and can only grow (a refund may turn out to have
 * failed, an open dispute ends). Any order and any repetition of the same facts gives the same outcome.
 */
export type PaymentState = 'created' | 'pending' | 'settled' | 'failed' | 'expired' | 'refunded' | 'disputed'

export type PaymentFact =
  /** The customer has paid; the rail is still processing. */
  | { kind: 'processing' }
  | { kind: 'settled'; amountPico: PicoUsd }
  | { kind: 'failed'; reason: string }
  | { kind: 'expired' }
  /** One refund. Failed: the money came back to us. Both 0 and failed: the rail refused the refund. */
  | { kind: 'refund'; refundId: string; amountPico: PicoUsd; failed: boolean }
  /** Sum of all refunds so far, from rails that report the sum. */
  | { kind: 'refunded_total'; amountPico: PicoUsd }
  /** `atMs`: time of the report, unix ms. Absent: unknown, earlier than all others. */
  | { kind: 'dispute'; disputeId: string; amountPico: PicoUsd; outcome: DisputeOutcome; atMs?: number }
  /** The rail took the money back. If it also reports a dispute, both are one loss. */
  | { kind: 'reversal'; reversalId: string; amountPico: PicoUsd }

/**
 * A decided dispute is no longer open, and of two decisions the later one counts, because rails revise them. At equal
 * times, the later one in this list counts.
 */
export const DISPUTE_OUTCOMES = ['open', 'won', 'lost'] as const
export type DisputeOutcome = (typeof DISPUTE_OUTCOMES)[number]

/** The distribution of a payment's money. Never below zero; returned and disputed together are at most settled. */
export interface PaymentAmounts {
  /** Received. */
  settledPico: PicoUsd
  /** Returned by refunds, lost disputes and reversals. */
  returnedPico: PicoUsd
  /** Withheld until a dispute is decided. */
  disputedPico: PicoUsd
}

export interface PaymentOutcome extends PaymentAmounts {
  state: PaymentState
  /** There is or was a dispute or reversal, whatever its result. */
  contested: boolean
  failureReason: string | null
}

export interface PaymentBasis {
  amountPico: PicoUsd
  /** A checkout was opened at the rail. */
  opened: boolean
}

export const failedRefunds = (facts: readonly PaymentFact[]): number =>
  new Set(facts.flatMap((fact) => (fact.kind === 'refund' && fact.failed ? [fact.refundId] : []))).size

/** Computes the state of a payment from all its known facts, in any order. */
export function paymentOutcome(
  { amountPico, opened }: PaymentBasis,
  facts: readonly PaymentFact[],
): PaymentOutcome {
  // Another amount than requested does not count; an operator must decide.
  const settled = facts.some((fact) => fact.kind === 'settled' && fact.amountPico === amountPico)
  const losses = lossesOf(facts)
  const failure = facts.find((fact) => fact.kind === 'failed')
  const settledPico = settled ? amountPico : picoUsd(0n)
  // A payment never returns more than it brought; a refund that settles a dispute is reported twice.
  const returnedPico = lesserOf(settledPico, losses.refundedPico + losses.lostPico)
  const disputedPico = lesserOf(settledPico - returnedPico, losses.openPico)
  return {
    state: stateOf(facts, { settled, opened, ...losses }),
    settledPico,
    returnedPico,
    disputedPico,
    contested: settled && losses.contested,
    failureReason: settled ? null : (failure?.reason ?? null),
  }
}

interface Losses {
  refundedPico: bigint
  openPico: bigint
  lostPico: bigint
  contested: boolean
}

function stateOf(
  facts: readonly PaymentFact[],
  known: Losses & { settled: boolean; opened: boolean },
): PaymentState {
  const has = (kind: PaymentFact['kind']) => facts.some((fact) => fact.kind === kind)
  if (known.settled) {
    if (known.openPico > 0n || known.lostPico > 0n) return 'disputed'
    return known.refundedPico > 0n ? 'refunded' : 'settled'
  }
  if (has('failed')) return 'failed'
  if (has('expired')) return 'expired'
  return known.opened || has('processing') ? 'pending' : 'created'
}

type DisputeEnding = Pick<Extract<PaymentFact, { kind: 'dispute' }>, 'outcome' | 'atMs'>

/** Whether the report `one` of a dispute takes precedence over `other`. */
function outranks(one: DisputeEnding, other: DisputeEnding): boolean {
  if ((one.outcome === 'open') !== (other.outcome === 'open')) return other.outcome === 'open'
  const laterMs = (one.atMs ?? 0) - (other.atMs ?? 0)
  if (laterMs !== 0) return laterMs > 0
  return DISPUTE_OUTCOMES.indexOf(one.outcome) > DISPUTE_OUTCOMES.indexOf(other.outcome)
}

function lossesOf(facts: readonly PaymentFact[]): Losses {
  const refunds = new Map<string, { amountPico: bigint; failed: boolean }>()
  const disputes = new Map<string, { amountPico: bigint; ending: DisputeEnding }>()
  const reversals = new Map<string, bigint>()
  let refundedTotal = 0n
  for (const fact of facts) {
    if (fact.kind === 'refund') {
      const known = refunds.get(fact.refundId)
      const failed = fact.failed || (known?.failed ?? false)
      refunds.set(fact.refundId, { amountPico: greaterOf(fact.amountPico, known?.amountPico ?? 0n), failed })
    } else if (fact.kind === 'dispute') {
      const known = disputes.get(fact.disputeId)
      const ending = known && outranks(known.ending, fact) ? known.ending : fact
      disputes.set(fact.disputeId, {
        amountPico: greaterOf(fact.amountPico, known?.amountPico ?? 0n),
        ending,
      })
    } else if (fact.kind === 'reversal') {
      reversals.set(fact.reversalId, greaterOf(fact.amountPico, reversals.get(fact.reversalId) ?? 0n))
    } else if (fact.kind === 'refunded_total') {
      refundedTotal = greaterOf(fact.amountPico, refundedTotal)
    }
  }
  const liveRefunds = sum([...refunds.values()].filter(({ failed }) => !failed))
  const failedRefunds = sum([...refunds.values()].filter(({ failed }) => failed))
  const ended = (outcome: DisputeOutcome) =>
    sum([...disputes.values()].filter(({ ending }) => ending.outcome === outcome))
  const reversed = [...reversals.values()].reduce((total, amount) => total + amount, 0n)
  const lostPico = greaterOf(ended('lost'), reversed)
  return {
    // The reported sum still includes refunds that failed since.
    refundedPico: greaterOf(liveRefunds, refundedTotal - failedRefunds),
    // A reversal ends a dispute that may not have been reported yet.
    openPico: greaterOf(0n, ended('open') + ended('lost') - lostPico),
    lostPico,
    contested: disputes.size > 0 || reversals.size > 0,
  }
}

const sum = (items: ReadonlyArray<{ amountPico: bigint }>): bigint =>
  items.reduce((total, { amountPico }) => total + amountPico, 0n)
