import { budgetsOf, type RunningBudget } from '../../src/core/billing/budget.ts'
import { isUnserved, type SettlementRecord } from '../../src/core/calls/call-job.ts'
import { accountKeys, allowanceKey } from '../../src/platform/redis/redis-keys.ts'
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
  /** The processes that were killed. */
  killed: ReadonlySet<SimulatedProcess>
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
  const { data } = gateway.redis
  const keys = accountKeys(accountId)
  const held = BigInt(data.get(keys.held) ?? '0')
  let holds = 0n
  for (const hold of data.hashes.get(keys.holds)?.values() ?? []) holds += BigInt(hold.split(':')[0]!)
  if (holds !== held) return `the open holds sum to ${holds}, held says ${held}`
  const [avail, ver] = [data.get(keys.avail), data.get(keys.ver)]
  if (avail === null) return null
  const base = gateway.ledger.accounts.get(accountId)?.history.get(BigInt(ver ?? '-1'))
  if (base === undefined) return `the holds is at version ${ver}, which the ledger never had`
  if (BigInt(avail) !== base - held)
    return `available is ${avail}, but ${base} less ${held} are ${base - held}`
  // A charge can be in the balance before its hold is closed. It counts twice then, on the safe side.
  const twice = countedTwice(world, accountId, BigInt(ver ?? '-1'))
  if (BigInt(avail) + twice < 0n && !world.mayOverspend)
    return `available is below zero: ${avail}, ${twice} of it twice`
  return null
}

/** Charges inside the balance at a version whose holds are still open. */
function countedTwice({ gateway }: World, accountId: string, version: bigint): bigint {
  let sum = 0n
  for (const callId of gateway.redis.data.hashes.get(accountKeys(accountId).holds)?.keys() ?? []) {
    const settled = gateway.ledger.chargedAt.get(callId)
    if (settled && settled.version <= version) sum += settled.chargePico
  }
  return sum
}

function brokenLedger(world: World, accountId: string): string | null {
  const { gateway, mayOverspend } = world
  const { ledger } = gateway
  const account = ledger.accounts.get(accountId)!
  if (account.balancePico < 0n) return `the balance is below zero: ${account.balancePico}`
  const opening = account.history.get(1n)!
  const entries = ledger.entriesOf(accountId)
  if (opening + entries !== account.balancePico) {
    return `the entries sum to ${opening + entries}, the balance is ${account.balancePico}`
  }
  const broken = mayOverspend ? null : brokenBudget(world, accountId)
  if (broken) return broken
  if (ledger.quarantined.size > 0 && !mayOverspend) return `quarantined: ${[...ledger.quarantined.keys()]}`
  return null
}

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
  const captures = gateway.ledger.postings.filter((posting) => posting.id === call.id)
  if (captures.length > 1) return `charged ${captures.length} times`
  const record = gateway.ledger.calls.get(call.id)
  const pending = pendingSettlement(gateway, call.id)
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
    if (call.status === 'whole' && record.status !== 'completed' && !mayGiveAway(world)) {
      return `its client saw the end, but it was settled as ${record.status}`
    }
    return heldTooMuch(world, call, BigInt(chargePico))
  }
  if (world.mayLoseCharges || gateway.ledger.quarantined.has(call.id)) return null
  if (call.status === 'whole' && !pending && !isKept(world, call.id)) {
    return 'its client saw the end, and no settlement is on its way'
  }
  if (!pending) return null
  const tooMuch = heldTooMuch(world, call, BigInt(pending.chargePico))
  if (tooMuch || world.mayOverspend || world.maySettleStale) return tooMuch
  // Settled twice, by the worker that was lost and by the one that took over: the hold is down to the lesser charge.
  if (call.status !== 'whole' && world.maySettleUnheard) return null
  // A balance cache that is not loaded admits nothing that the hold would have to be kept from.
  const keys = accountKeys(call.accountId)
  if (gateway.redis.data.get(keys.avail) === null) return null
  const hold = gateway.redis.data.hashes.get(keys.holds)?.get(call.id)
  if (BigInt(pending.chargePico) > BigInt(hold?.split(':')[0] ?? '0')) {
    return `its settlement of ${pending.chargePico} waits, and its hold is ${hold ?? 'gone'}`
  }
  return null
}

/** A client that saw the end can spend at once what was held beyond the charge. */
function heldTooMuch({ gateway, mayHoldMore }: World, call: ClientCall, chargePico: bigint): string | null {
  if (call.status !== 'whole' || mayHoldMore) return null
  const hold = gateway.redis.data.hashes.get(accountKeys(call.accountId).holds)?.get(call.id)
  const heldPico = BigInt(hold?.split(':')[0] ?? '0')
  return heldPico > chargePico ? `its client saw the end, and ${heldPico} are held for ${chargePico}` : null
}

/** What the gateway failed costs nothing where no content came, and at most what came where some did. */
function overcharged(world: World, call: ClientCall, record: SettlementRecord): string | null {
  if (call.status !== 'error' || (world.maySettleUnheard && record.status === 'completed')) return null
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
  if (world.mayLoseCharges || world.killed.has(call.api.process)) return null
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

const mayGiveAway = ({ mayLoseCharges, maySettleStale }: World): boolean => mayLoseCharges || maySettleStale

/** Of the records of a call that wait for their settlement the one that counts. */
function pendingSettlement({ settlementQueue }: Gateway, callId: string): SettlementRecord | null {
  const waiting = [...settlementQueue.jobs.values()].flatMap((job) => job.data.records)
  const ofCall = waiting.filter((record) => record.id === callId)
  return ofCall.find((record) => !isUnserved(record)) ?? ofCall[0] ?? null
}

/** Whether a worker that lives has the call, or could enqueue its settlement again. */
const isKept = ({ workers }: World, callId: string): boolean =>
  workers.some(({ process, knows }) => process.isAlive && knows(callId))

/** What holds besides when nothing is in flight any more. */
export function brokenRest(world: World): string | null {
  const { gateway } = world
  for (const accountId of world.accountIds) {
    const keys = accountKeys(accountId)
    const { data } = gateway.redis
    const open = [...(data.hashes.get(keys.holds)?.keys() ?? [])].filter(
      (id) => !gateway.ledger.quarantined.has(id),
    )
    if (open.length > 0) return `${accountId}: holds are open: ${open}`
    const avail = data.get(keys.avail)
    const { balancePico } = gateway.ledger.balance(accountId)!
    if (avail !== null && gateway.ledger.quarantined.size === 0 && BigInt(avail) !== balancePico) {
      return `${accountId}: available is ${avail}, the balance ${balancePico}`
    }
    const isExact = gateway.ledger.quarantined.size === 0 && !world.mayMissSpending
    const broken = isExact ? brokenAllowance(world, accountId) : null
    if (broken) return `${accountId}: ${broken}`
  }
  for (const call of world.calls) {
    if (call.status === 'waiting') return `${call.id}: its client still waits`
    if (wasChargedRefused(world, call)) return `${call.id}: was refused, is charged, and nobody says so`
    const overcharge = overchargedAfterCredits(world, call)
    if (overcharge) return `${call.id}: ${overcharge}, and is not credited`
    if (call.status !== 'whole' || mayGiveAway(world) || gateway.ledger.quarantined.has(call.id)) continue
    const record = gateway.ledger.calls.get(call.id)
    if (record?.status !== 'completed') return `${call.id}: given away, its record is ${record?.status}`
  }
  return null
}

/** With nothing in flight, what is left of a budget is the budget less what was spent. */
function brokenAllowance(world: World, accountId: string): string | null {
  const { ledger, redis } = world.gateway
  const { spentPico } = ledger.spending(accountId, [])
  for (const budget of budgetsOfAccount(world, accountId)) {
    const left = redis.data.get(allowanceKey(budget, budget.period.id))
    if (left !== null && BigInt(left) !== budget.limitPico - spentPico)
      return `${left} are left of a budget of its ${budget.scope} of ${budget.limitPico}, ${spentPico} were spent`
  }
  return null
}

/** Whether a call was charged although its caller was refused, and the instance that refused it does not say so. */
function wasChargedRefused(
  { gateway, mayLoseCharges, killed }: World,
  { id, status, api }: ClientCall,
): boolean {
  const { ledger } = gateway
  const chargePico = ledger.calls.get(id)?.chargePico ?? '0'
  const isExcused = mayLoseCharges || killed.has(api.process) || ledger.toldFailures.has(id)
  return status === 'refused' && chargePico !== '0' && !isExcused
}
