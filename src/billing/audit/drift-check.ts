import type { Logger } from 'pino'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import { findCharges } from '../call-records/known-calls.ts'
import type { HoldStore, LedgerBalance } from '../holds/hold-store.ts'
import type { BalanceStore } from '../ledger/balance-store.ts'
import { compareWithLedger } from './balance-cache-audit.ts'

export interface DriftCheckDependencies {
  holds: HoldStore
  balances: BalanceStore
  postgres: Postgres
  logger: Logger
}

export interface DriftReport {
  /** Accounts whose balance cache had drifted. */
  drifted: number
  openHolds: number
  /** Accounts that equal the ledger and have no open hold, with the version of their balance cache. */
  idle: Map<string, bigint | null>
  /** Whether the ledger is older than a balance cache: PostgreSQL lost commits. */
  ledgerWentBack: boolean
}

/**
 * Compares the balance caches of some accounts with the ledger and repairs those that drifted, with a warning each. A
 * cache that is only behind is updated. If the ledger is older than the balance cache, PostgreSQL lost commits, and
 * dispatch workers are notified.
 */
export async function repairDrift(
  accountIds: readonly string[],
  deps: DriftCheckDependencies,
): Promise<DriftReport> {
  const { holds, balances, logger } = deps
  // Redis first, then the ledger: see compareWithLedger.
  const readings = await Promise.all(accountIds.map((accountId) => holds.inspect(accountId)))
  const ledgers = await balances.balances(accountIds)
  const openHolds = readings.reduce((sum, reading) => sum + reading.openHolds, 0)
  const idle: DriftReport['idle'] = new Map()
  let drifted = 0
  let ledgerWentBack = false
  for (const [index, accountId] of accountIds.entries()) {
    const reading = readings[index]
    const ledger = ledgers.get(accountId)
    if (!reading || !ledger) {
      logger.warn({ accountId }, 'account in redis is missing from the ledger')
      continue
    }
    const verdict = compareWithLedger(reading, ledger)
    switch (verdict.kind) {
      case 'unloaded':
      case 'sound':
        if (reading.openHolds === 0) idle.set(accountId, reading.version)
        break
      case 'behind':
        await holds.apply(accountId, ledger, [])
        break
      case 'overdrawn':
        await closeSettledHolds(accountId, ledger, deps)
        break
      case 'drifted': {
        // Must run before the rebuild discards the version that proves the loss.
        if (verdict.ledgerWentBack) await holds.noteLedgerLoss()
        ledgerWentBack ||= verdict.ledgerWentBack
        const repaired = await holds.rebuild(accountId, ledger, verdict.ledgerWentBack)
        logger.warn(
          { alarm: 'balance-drifted', accountId, problems: verdict.problems, repaired },
          'balance cache drifted from the ledger',
        )
        drifted += 1
        break
      }
      default:
        verdict satisfies never
    }
  }
  return { drifted, openHolds, idle, ledgerWentBack }
}

/**
 * Closes the holds whose charges are already in the balance, since they count twice. If available stays below zero,
 * calls were admitted that the balance does not afford.
 */
async function closeSettledHolds(
  accountId: string,
  ledger: LedgerBalance,
  { holds, postgres, logger }: DriftCheckDependencies,
): Promise<void> {
  const open = await holds.openHolds(accountId)
  const charges = await findCharges(
    postgres,
    open.map((hold) => hold.callId),
  )
  const settled = [...charges].map(([callId, chargePico]) => ({ callId, chargePico }))
  const { availPico } = await holds.apply(accountId, ledger, settled)
  if (availPico === null || availPico >= 0n) return
  logger.error({ alarm: 'overspent', accountId, availPico: String(availPico) }, 'holds exceed the balance')
}
