import { setTimeout as delay } from 'node:timers/promises'
import { callCreatedAt } from '../../core/kernel/ids.ts'
import type { FindQueuedCalls } from '../../platform/queues/call-jobs.ts'
import type { HoldStore, HoldSummary, LedgerBalance } from '../holds/hold-store.ts'
import type { BalanceStore } from '../ledger/balance-store.ts'
import { type CheckResult, type Discrepancy, SAMPLES } from './audit-findings.ts'

/** Totals over the balance caches in Redis; amounts in pico-USD. */
interface BalanceCacheTotals {
  balanceCaches: number
  availablePico: bigint
  heldPico: bigint
  openHolds: number
  /** Open holds whose call has no job and is not settled; the sweep releases them. */
  lostHolds: number
  /** Calls waiting or running, and settlements waiting. */
  dispatchJobs: number
  settlementJobs: number
}

interface BalanceCacheAuditDependencies {
  holds: HoldStore
  balances: BalanceStore
  /** Jobs in the queues: calls waiting or running, settlements waiting. */
  countJobs: () => Promise<{ dispatchJobs: number; settlementJobs: number }>
  /** Which calls have a dispatch or settlement job. */
  findQueued: FindQueuedCalls
  /** Which of some calls are settled or in quarantine. */
  accountedFor: (callIds: string[]) => Promise<Set<string>>
  clock: () => number
}

const ACCOUNTS_AT_ONCE = 100
/** Redis has a committed settlement within this time, unless its worker died. */
const CATCH_UP_MS = 5_000
const CATCH_UP_POLL_MS = 100
/** Lost holds are swept after a minute, by a run every half minute. The sweep missed a hold older than this. */
const SWEEP_OVERDUE_MS = 180_000

const SOUND = 'every balance cache is the ledger balance less its open holds, and not below zero'
const CAUGHT_UP = 'every settlement has reached the balance cache'
const NOTHING_LOST = 'every hold belongs to a call that is queued, running or settling'

/**
 * Compares balance caches with the ledger. Exact while calls run: a cache is compared only at the ledger's version, and
 * one that is behind gets a few seconds to catch up. The hold of a lost call counts as a metric until the sweep should
 * have released it, and then as a discrepancy.
 */
export async function openBalanceCacheAudit(deps: BalanceCacheAuditDependencies) {
  const jobs = await deps.countJobs()
  const metrics: BalanceCacheTotals = {
    balanceCaches: 0,
    availablePico: 0n,
    heldPico: 0n,
    openHolds: 0,
    lostHolds: 0,
    ...jobs,
  }
  const found: Discrepancy[] = []
  const behind: BehindCache[] = []
  const withHolds: string[] = []

  const compareSome = async (accountIds: readonly string[]) => {
    // Redis first, then the ledger: see compareWithLedger.
    const readings = await Promise.all(accountIds.map((accountId) => deps.holds.inspect(accountId)))
    const ledgers = await deps.balances.balances(accountIds)
    for (const [index, accountId] of accountIds.entries()) {
      const reading = readings[index]
      if (!reading || (reading.version === null && reading.openHolds === 0)) continue
      metrics.balanceCaches += 1
      metrics.availablePico += reading.availPico ?? 0n
      metrics.heldPico += reading.heldPico
      metrics.openHolds += reading.openHolds
      const balance = auditBalance(accountId, reading, ledgers.get(accountId))
      found.push(...balance.found)
      if (balance.behind) behind.push(balance.behind)
      if (reading.openHolds > 0) withHolds.push(accountId)
    }
  }

  return {
    async compare(accountIds: readonly string[]) {
      for (let start = 0; start < accountIds.length; start += ACCOUNTS_AT_ONCE)
        await compareSome(accountIds.slice(start, start + ACCOUNTS_AT_ONCE))
    },
    async finish() {
      const lost = await lostHolds(withHolds, deps)
      metrics.lostHolds = lost.length
      found.push(...lost.filter((hold) => hold.ageMs > SWEEP_OVERDUE_MS).map(overdue))
      found.push(...(await stillBehind(behind, deps)))
      return { metrics, checks: [SOUND, CAUGHT_UP, NOTHING_LOST].map((name) => summarize(name, found)) }
    },
  }
}

/** A balance cache with a discrepancy that may be temporary. */
interface BehindCache {
  accountId: string
  /** The discrepancy to report if it persists. */
  discrepancy: Discrepancy
  /** The ledger's version when it was found. */
  version: bigint
}

function auditBalance(
  accountId: string,
  reading: HoldSummary,
  ledger: LedgerBalance | undefined,
): { found: Discrepancy[]; behind?: BehindCache } {
  const subject = accountId
  if (!ledger) return { found: [{ check: SOUND, subject, detail: 'the ledger knows no such account' }] }
  const verdict = compareWithLedger(reading, ledger)
  const behind = (check: string, detail: string) => ({
    found: [],
    behind: { accountId, discrepancy: { check, subject, detail }, version: ledger.version },
  })
  switch (verdict.kind) {
    case 'unloaded':
    case 'sound':
      return { found: [] }
    case 'drifted':
      return { found: verdict.problems.map((detail) => ({ check: SOUND, subject, detail })) }
    case 'behind':
      return behind(CAUGHT_UP, `redis knows version ${reading.version}, the ledger ${ledger.version}`)
    case 'overdrawn':
      return behind(SOUND, `available is below zero: ${reading.availPico}`)
    default:
      return verdict satisfies never
  }
}

/**
 * Waits for all caches that are behind and compares them again: a cache that has caught up must be exact. Reports those
 * that are not, and those that did not advance. An account that settles constantly may be behind at every reading, each
 * time at a newer version.
 */
async function stillBehind(
  found: BehindCache[],
  deps: BalanceCacheAuditDependencies,
): Promise<Discrepancy[]> {
  const giveUpAt = deps.clock() + CATCH_UP_MS
  const discrepancies: Discrepancy[] = []
  let behind = found
  while (behind.length > 0) {
    const isLast = deps.clock() >= giveUpAt
    await delay(CATCH_UP_POLL_MS)
    const accountIds = behind.map(({ accountId }) => accountId)
    const readings = await Promise.all(accountIds.map((accountId) => deps.holds.inspect(accountId)))
    const ledgers = await deps.balances.balances(accountIds)
    behind = behind.filter((before, index) => {
      const { accountId, discrepancy, version } = before
      const reading = readings[index]!
      const now = auditBalance(accountId, reading, ledgers.get(accountId))
      discrepancies.push(...now.found)
      if (!now.behind) return false
      const hasMoved =
        discrepancy.check === CAUGHT_UP && reading.version !== null && reading.version >= version
      if (isLast && !hasMoved) discrepancies.push(discrepancy)
      return !isLast
    })
  }
  return discrepancies
}

interface LostHold {
  accountId: string
  callId: string
  ageMs: number
}

/** Open holds of calls that have no job and are neither settled nor in quarantine, checked in that order, as in the sweep. */
async function lostHolds(accountIds: string[], deps: BalanceCacheAuditDependencies): Promise<LostHold[]> {
  const accountOf = new Map<string, string>()
  for (const accountId of accountIds)
    for (const { callId } of await deps.holds.openHolds(accountId)) accountOf.set(callId, accountId)
  if (accountOf.size === 0) return []
  const queued = await deps.findQueued([...accountOf].map(([callId, accountId]) => ({ accountId, callId })))
  const jobless = [...accountOf.keys()].filter((callId) => !queued.has(callId))
  const accounted = await deps.accountedFor(jobless)
  const now = deps.clock()
  return jobless
    .filter((callId) => !accounted.has(callId))
    .map((callId) => ({
      accountId: accountOf.get(callId)!,
      callId,
      ageMs: now - (callCreatedAt(callId) ?? now),
    }))
}

const overdue = ({ accountId, callId, ageMs }: LostHold): Discrepancy => ({
  check: NOTHING_LOST,
  subject: callId,
  detail: `held for ${accountId} since ${Math.round(ageMs / 1000)} s, no job, not settled`,
})

function summarize(name: string, found: Discrepancy[]): CheckResult {
  const own = found.filter((discrepancy) => discrepancy.check === name)
  return { name, broken: own.length, discrepancies: own.slice(0, SAMPLES) }
}

type LedgerComparison =
  /** The account is not in Redis; it is loaded on first use. */
  | { kind: 'unloaded' }
  | { kind: 'sound' }
  /** The ledger is ahead: a settlement committed and is about to be applied, or its worker died. */
  | { kind: 'behind' }
  /**
   * Available is below zero. Either a settlement is inside the balance while its hold is still open, so that it counts
   * twice for a moment, or more was admitted than the balance affords.
   */
  | { kind: 'overdrawn' }
  | { kind: 'drifted'; problems: string[]; ledgerWentBack: boolean }

/**
 * Compares a balance cache with the ledger. The cache must have been read before the ledger: the balance at a version
 * never changes, so equal versions compare exactly whatever happens between the readings, and only the ledger can be
 * ahead. Invariants: avail = balance − held, sum of the holds = held, avail ≥ 0.
 */
export function compareWithLedger(cache: HoldSummary, ledger: LedgerBalance): LedgerComparison {
  const { availPico, heldPico, holdsPico, version } = cache
  const ledgerWentBack = version !== null && version > ledger.version
  // A cache that waits for a version the ledger no longer has would never load.
  if (version === null || (availPico === null && !ledgerWentBack)) return { kind: 'unloaded' }
  const problems: string[] = []
  if (ledgerWentBack) problems.push(`redis knows version ${version}, the ledger only ${ledger.version}`)
  if (version === ledger.version && availPico !== ledger.balancePico - heldPico) {
    problems.push(`available ${availPico} is not balance ${ledger.balancePico} less held ${heldPico}`)
  }
  if (holdsPico !== heldPico) problems.push(`open holds sum to ${holdsPico}, held says ${heldPico}`)
  if (problems.length > 0) return { kind: 'drifted', problems, ledgerWentBack }
  if (version < ledger.version) return { kind: 'behind' }
  return availPico !== null && availPico < 0n ? { kind: 'overdrawn' } : { kind: 'sound' }
}
