import { budgetsOf, type RunningBudget } from '../../src/core/billing/budget.ts'
import { isUnserved, type SettlementRecord } from '../../src/core/calls/call-job.ts'
import { bounded, type ClientCall } from './client.ts'
import type { Gateway, Worker } from './gateway.ts'
import type { Plan } from './plan.ts'
import { tokensOf } from './simulated-provider.ts'
import { type SimulatedProcess, START_MS } from './simulated-time.ts'

export interface World {
  gateway: Gateway
  accountIds: readonly string[]
  plan: Plan
  calls: readonly ClientCall[]
  workers: readonly Worker[]
  /** What need not hold for an account. */
  excusesOf(accountId: string): Excuses
  /** Whether nothing happened to the Redis server of an account, nor to a process or PostgreSQL. */
  isUntouched(accountId: string): boolean
  /** The processes that were killed. */
  killed: ReadonlySet<SimulatedProcess>
}

/** What cannot be promised any more to the accounts of one Redis server. What happens to another excuses nothing. */
export interface Excuses {
  /** Redis lost its data, and workers may have been too late to resync what they held. */
  mayOverspend: boolean
  /** Redis lost its last moments: what is left of a budget may be without the calls that ended in them. */
  mayMissSpending: boolean
  /** Redis lost its data: the hold of a call that ends meanwhile may come back whole, until it is settled. */
  mayHoldMore: boolean
  /** Redis and a worker were both lost: settlements may have gone with them. */
  mayLoseCharges: boolean
  /**
   * A worker was cut off for longer than its claims stand, right after it made sure of one. Its settlement may
   * come before that of the worker which took the call over, and the first counts. Whichever ended the call first
   * has shrunk its hold, also where the other charges more.
   */
  maySettleStale: boolean
  /**
   * An answer may have been settled and its last frame lost: with its worker, or to an instance that gave up meanwhile.
   */
  maySettleUnheard: boolean
}

export const NO_EXCUSES: Excuses = {
  mayOverspend: false,
  mayMissSpending: false,
  mayHoldMore: false,
  mayLoseCharges: false,
  maySettleStale: false,
  maySettleUnheard: false,
}

/** The laws that hold after every step. Returns the first that is broken, or null. */
export function brokenLaw(world: World): string | null {
  for (const accountId of world.accountIds) {
    const broken = brokenGate(world, accountId) ?? brokenLedger(world, accountId)
    if (broken) return `${accountId}: ${broken}`
  }
  for (const call of world.calls) {
    const broken = call.complaint ?? brokenPromise(world, call)
    if (broken) return `${call.id}: ${broken}`
  }
  return null
}

function brokenGate(world: World, accountId: string): string | null {
  const { gateway } = world
  const { record, holds, avail } = gateway.cacheOf(accountId)
  const held = BigInt(record.get('held') ?? '0')
  const sum = holds.reduce((total, { amount }) => total + amount, 0n)
  if (sum !== held) return `the open holds sum to ${sum}, held says ${held}`
  const ver = record.get('ver')
  if (avail === null) return null
  const base = gateway.ledger.accounts.get(accountId)?.history.get(BigInt(ver ?? '-1'))
  if (base === undefined) return `the holds is at version ${ver}, which the ledger never had`
  if (BigInt(avail) !== base - held)
    return `available is ${avail}, but ${base} less ${held} are ${base - held}`
  // A charge can be in the balance before its hold is closed. It counts twice then, on the safe side.
  const twice = countedTwice(world, accountId, BigInt(ver ?? '-1'))
  if (BigInt(avail) + twice < 0n && !world.excusesOf(accountId).mayOverspend)
    return `available is below zero: ${avail}, ${twice} of it twice`
  return null
}

/** Charges inside the balance at a version whose holds are still open. */
function countedTwice({ gateway }: World, accountId: string, version: bigint): bigint {
  let sum = 0n
  for (const { id } of gateway.cacheOf(accountId).holds) {
    const settled = gateway.ledger.chargedAt.get(id)
    if (settled && settled.version <= version) sum += settled.chargePico
  }
  return sum
}

function brokenLedger(world: World, accountId: string): string | null {
  const { ledger } = world.gateway
  const { mayOverspend } = world.excusesOf(accountId)
  const account = ledger.accounts.get(accountId)!
  if (account.balancePico < 0n) return `the balance is below zero: ${account.balancePico}`
  const opening = account.history.get(1n)!
  const entries = ledger.entriesOf(accountId)
  if (opening + entries !== account.balancePico) {
    return `the entries sum to ${opening + entries}, the balance is ${account.balancePico}`
  }
  const broken = mayOverspend ? null : brokenBudget(world, accountId)
  if (broken) return broken
  const quarantined = quarantinedOf(world, accountId)
  return quarantined.length > 0 && !mayOverspend ? `quarantined: ${quarantined}` : null
}

const quarantinedOf = ({ gateway, calls }: World, accountId: string): string[] =>
  calls
    .filter((call) => call.accountId === accountId && gateway.ledger.quarantined.has(call.id))
    .map(({ id }) => id)

/** No budget is exceeded, whatever happens. */
function brokenBudget(world: World, accountId: string): string | null {
  const { spentPico } = world.gateway.ledger.spending(accountId, [])
  for (const { scope, limitPico } of budgetsOfAccount(world, accountId))
    if (spentPico > limitPico) return `spent ${spentPico} on a budget of its ${scope} of ${limitPico}`
  return null
}

const budgetsOfAccount = ({ accountIds, plan }: World, accountId: string): RunningBudget[] =>
  budgetsOf({ ...bounded(accountId, plan.budgets[accountIds.indexOf(accountId)]!), accountId }, START_MS)

/** What a call that has ended is owed: its charge is safe somewhere, and still covered by its hold. */
function brokenPromise(world: World, call: ClientCall): string | null {
  const { gateway } = world
  const excuses = world.excusesOf(call.accountId)
  const captures = gateway.ledger.postings.filter((posting) => posting.id === call.id)
  if (captures.length > 1) return `charged ${captures.length} times`
  const record = gateway.ledger.calls.get(call.id)
  const pending = pendingSettlement(gateway, call)
  if (record && isSweptAsLost(record) && pending) return 'was swept as lost, and its settlement waits'
  // A record that names nobody who served gives way to one that does; its hold may be closed by then.
  if (record && isUnserved(record) && ((pending && !isUnserved(pending)) || isKept(world, call.id)))
    return null
  if (record) {
    const { served, usage, chargePico, holdPico } = record
    const cost =
      served === null
        ? 0n
        : BigInt(served.rate.prompt) * BigInt(usage.promptTokens) +
          BigInt(served.rate.completion) * BigInt(usage.completionTokens)
    if (BigInt(chargePico) !== cost) return `charged ${chargePico}, recomputed ${cost}`
    if (BigInt(chargePico) > BigInt(holdPico)) return `charged ${chargePico}, held ${holdPico}`
    if (call.errorCode === 'request_timeout' && chargePico !== '0')
      return `was told that it waited too long for a worker, was charged ${chargePico}`
    const wrongCharge = overcharged(world, call, record) ?? hungUpWrongly(record)
    if (wrongCharge) return wrongCharge
    if (call.status === 'whole' && record.status !== 'completed' && !mayGiveAway(excuses)) {
      return `its client saw the end, but it was settled as ${record.status}`
    }
    return heldTooMuch(world, call, BigInt(chargePico))
  }
  if (excuses.mayLoseCharges || gateway.ledger.quarantined.has(call.id)) return null
  if (call.status === 'whole' && !pending && !isKept(world, call.id)) {
    return 'its client saw the end, and no settlement is on its way'
  }
  if (!pending) return null
  const tooMuch = heldTooMuch(world, call, BigInt(pending.chargePico))
  if (tooMuch || excuses.mayOverspend || excuses.maySettleStale) return tooMuch
  // Settled twice, by the worker that was lost and by the one that took over: the hold is down to the lesser charge.
  if (call.status !== 'whole' && excuses.maySettleUnheard) return null
  // A balance cache that is not loaded admits nothing that the hold would have to be kept from.
  const { holds, avail } = gateway.cacheOf(call.accountId)
  if (avail === null) return null
  const hold = holds.find(({ id }) => id === call.id)
  if (BigInt(pending.chargePico) > (hold?.amount ?? 0n)) {
    return `its settlement of ${pending.chargePico} waits, and its hold is ${hold?.amount ?? 'gone'}`
  }
  return null
}

/** As `lostSettlement` of src/core/billing/settlement.ts makes it. */
const isSweptAsLost = ({ requestedModel }: SettlementRecord): boolean => requestedModel === 'unknown'

/** A client that saw the end can spend at once what was held beyond the charge. */
function heldTooMuch(world: World, call: ClientCall, chargePico: bigint): string | null {
  const { gateway } = world
  if (call.status !== 'whole' || world.excusesOf(call.accountId).mayHoldMore) return null
  const hold = gateway.cacheOf(call.accountId).holds.find(({ id }) => id === call.id)
  const heldPico = hold?.amount ?? 0n
  return heldPico > chargePico ? `its client saw the end, and ${heldPico} are held for ${chargePico}` : null
}

/** What the gateway failed costs nothing where no content came, and at most what came where some did. */
function overcharged(world: World, call: ClientCall, record: SettlementRecord): string | null {
  const { maySettleUnheard } = world.excusesOf(call.accountId)
  if (call.status !== 'error' || (maySettleUnheard && record.status === 'completed')) return null
  return chargedBeyond(call, record, record.usage.completionTokens)
}

function chargedBeyond(
  { text }: ClientCall,
  { chargePico }: SettlementRecord,
  tokens: number,
): string | null {
  if (chargePico === '0') return null
  if (text === '' && tokens > 0) return `got an error and no text, was charged ${chargePico}`
  const delivered = tokensOf(text)
  return tokens <= delivered ? null : `was delivered ${delivered} tokens, was charged ${tokens}`
}

/** The same in the end, whatever was settled: what is charged beyond that is credited. */
function overchargedAfterCredits(world: World, call: ClientCall): string | null {
  const { calls, toldFailures } = world.gateway.ledger
  const record = calls.get(call.id)
  if (call.status !== 'error' || !record || record.chargePico === '0') return null
  if (world.excusesOf(call.accountId).mayLoseCharges || world.killed.has(call.api.process)) return null
  const { completionTokens } = record.usage
  return chargedBeyond(
    call,
    record,
    Math.min(completionTokens, toldFailures.get(call.id) ?? completionTokens),
  )
}

/** A client that leaves pays from the status of the provider that works for it on, and nothing before the first. */
function hungUpWrongly({ status, attempts, chargePico }: SettlementRecord): string | null {
  const last = attempts.at(-1)
  if (status !== 'cancelled' || last?.outcome !== 'cancelled') return null
  if (last.httpStatus !== null && chargePico === '0')
    return 'its client left after the status of its provider, and was charged nothing'
  return attempts.length === 1 && last.httpStatus === null && chargePico !== '0'
    ? `its client left before the status of its provider, and was charged ${chargePico}`
    : null
}

const mayGiveAway = ({ mayLoseCharges, maySettleStale }: Excuses): boolean => mayLoseCharges || maySettleStale

/** Of the records of a call that wait for their settlement the one that counts. */
function pendingSettlement(gateway: Gateway, { id, accountId }: ClientCall): SettlementRecord | null {
  const { settlement } = gateway.queuesOf(accountId)
  const waiting = [...settlement.jobs.values()].flatMap((job) => job.data.records)
  const ofCall = waiting.filter((record) => record.id === id)
  return ofCall.find((record) => !isUnserved(record)) ?? ofCall[0] ?? null
}

/** Whether a worker that lives has the call, or could enqueue its settlement again. */
const isKept = ({ workers }: World, callId: string): boolean =>
  workers.some(({ process, knows }) => process.isAlive && knows(callId))

/** What holds besides when nothing is in flight any more. */
export function brokenRest(world: World): string | null {
  const { gateway } = world
  for (const accountId of world.accountIds) {
    const { holds, avail } = gateway.cacheOf(accountId)
    const open = holds.map(({ id }) => id).filter((id) => !gateway.ledger.quarantined.has(id))
    if (open.length > 0) return `${accountId}: holds are open: ${open}`
    const { balancePico } = gateway.ledger.balance(accountId)!
    const isUndisputed = quarantinedOf(world, accountId).length === 0
    if (avail !== null && isUndisputed && BigInt(avail) !== balancePico) {
      return `${accountId}: available is ${avail}, the balance ${balancePico}`
    }
    const isExact = isUndisputed && !world.excusesOf(accountId).mayMissSpending
    const broken = isExact ? brokenAllowance(world, accountId) : null
    if (broken) return `${accountId}: ${broken}`
  }
  for (const call of world.calls) {
    if (call.status === 'waiting') return `${call.id}: its client still waits`
    // The first load of a balance waits for workers, and may take most of the time that a call may wait.
    const isFirst = call.errorCode === 'request_timeout' && call.startedAtMs < START_MS + FIRST_LOADED_MS
    if (world.isUntouched(call.accountId) && FAULTS.test(call.errorCode ?? '') && !isFirst)
      return `${call.id}: ended with ${call.errorCode}, though nothing happened to its servers`
    if (wasChargedRefused(world, call)) return `${call.id}: was refused, is charged, and nobody says so`
    const overcharge = overchargedAfterCredits(world, call)
    if (overcharge) return `${call.id}: ${overcharge}, and is not credited`
    if (
      call.status !== 'whole' ||
      mayGiveAway(world.excusesOf(call.accountId)) ||
      gateway.ledger.quarantined.has(call.id)
    )
      continue
    const record = gateway.ledger.calls.get(call.id)
    if (record?.status !== 'completed') return `${call.id}: given away, its record is ${record?.status}`
  }
  return null
}

/** After the start: by then the balances that calls asked for first are loaded: the grace of a new epoch, and long latencies. */
const FIRST_LOADED_MS = 2_500

/** What only a fault of the gateway or its servers ends a call with; an error without a code is of a server. */
const FAULTS = /^(?:service_unavailable|internal_error|overloaded|request_timeout|Error: .*)$/

/** With nothing in flight, what is left of a budget is the budget less what was spent. */
function brokenAllowance(world: World, accountId: string): string | null {
  const { gateway } = world
  const { spentPico } = gateway.ledger.spending(accountId, [])
  for (const budget of budgetsOfAccount(world, accountId)) {
    const left = gateway.cacheOf(accountId).data.get(gateway.allowanceKey(budget, budget.period.id))
    if (left !== null && BigInt(left) !== budget.limitPico - spentPico)
      return `${left} are left of a budget of its ${budget.scope} of ${budget.limitPico}, ${spentPico} were spent`
  }
  return null
}

/** Whether a call was charged although its caller was refused, and the instance that refused it does not say so. */
function wasChargedRefused(world: World, { id, accountId, status, api }: ClientCall): boolean {
  const { ledger } = world.gateway
  const { mayLoseCharges } = world.excusesOf(accountId)
  const chargePico = ledger.calls.get(id)?.chargePico ?? '0'
  const isExcused = mayLoseCharges || world.killed.has(api.process) || ledger.toldFailures.has(id)
  return status === 'refused' && chargePico !== '0' && !isExcused
}
