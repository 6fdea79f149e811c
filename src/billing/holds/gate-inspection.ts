import { readFileSync } from 'node:fs'
import { defineScript, type Redis } from '../../platform/redis/redis.ts'
import { accountKeys } from '../../platform/redis/redis-keys.ts'
import type { GateFigures, LedgerBalance } from './hold-gate.ts'

const INSPECT = readFileSync(new URL('./inspect.lua', import.meta.url), 'utf8')
const REBUILD = readFileSync(new URL('./rebuild.lua', import.meta.url), 'utf8')

const HALF = 1_000_000_000n

/** The gate of one account at one instant, with its holds counted and summed. */
export interface GateReading extends GateFigures {
  openHolds: number
  holdsPico: bigint
}

/** Looking at a gate as a whole, and rebuilding one that went wrong. */
export interface GateInspection {
  read(accountId: string): Promise<GateReading>
  /**
   * Sets the gate to what the ledger and the open holds say. False when the gate knows a newer balance by
   * now; `force` is for a ledger that went back to an older state.
   */
  rebuild(accountId: string, ledger: LedgerBalance, force: boolean): Promise<boolean>
}

/** Inspection of the gate over one Redis client. */
export function createGateInspection(redis: Redis): GateInspection {
  const inspect = defineScript(redis, 'syInspect', INSPECT)
  const rebuild = defineScript(redis, 'syRebuild', REBUILD)
  const gateKeys = (accountId: string) => {
    const { avail, held, holds, ver } = accountKeys(accountId)
    return [avail, held, holds, ver]
  }
  return {
    async read(accountId) {
      const [avail, held, version, openHolds, high, low] = (await inspect(gateKeys(accountId), [])) as [
        string | null,
        string,
        string | null,
        number,
        string,
        string,
      ]
      return {
        availPico: avail === null ? null : BigInt(avail),
        heldPico: BigInt(held),
        version: version === null ? null : BigInt(version),
        openHolds,
        holdsPico: BigInt(high) * HALF + BigInt(low),
      }
    },

    async rebuild(accountId, { balancePico, version }, force) {
      const args = [String(balancePico), String(version), force ? '1' : '0']
      return (await rebuild(gateKeys(accountId), args)) === 1
    },
  }
}

export type GateVerdict =
  /** Redis knows nothing of the account yet; it loads on first use. */
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
 * Compares a gate with the ledger. The gate must have been read before the ledger: a balance at a version
 * never changes, so equal versions compare exactly whatever happens meanwhile, and the ledger can only be
 * ahead. Invariants: avail = balance − held, sum of the holds = held, avail ≥ 0.
 */
export function judgeGate(gate: GateReading, ledger: LedgerBalance): GateVerdict {
  const { availPico, heldPico, holdsPico, version } = gate
  const ledgerWentBack = version !== null && version > ledger.version
  // A gate that waits for a version the ledger no longer has would never load.
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
