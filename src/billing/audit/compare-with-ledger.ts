import type { HoldSummary, LedgerBalance } from '../holds/hold-store.ts'

export type LedgerComparison =
  /** Redis does not have the account yet; it loads on first use. */
  | { kind: 'unloaded' }
  | { kind: 'sound' }
  /** The ledger is ahead: a settlement committed and is about to be applied, or its worker died. */
  | { kind: 'behind' }
  /**
   * Available is below zero. A settlement may be inside the balance while its hold is yet to be closed, and
   * counts twice for a moment; else more was admitted than the balance affords.
   */
  | { kind: 'overdrawn' }
  | { kind: 'drifted'; problems: string[]; ledgerWentBack: boolean }

/**
 * Compares a balance cache with the ledger. The cache must have been read before the ledger: a balance at a version
 * never changes, so equal versions compare exactly whatever happens between the readings, and the ledger can only be
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
