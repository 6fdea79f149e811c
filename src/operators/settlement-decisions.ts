import type { HoldStore } from '../billing/holds/hold-store.ts'
import type { ConflictStore } from '../billing/settlement/conflict-store.ts'
import type { QuarantineStore } from '../billing/settlement/quarantine-store.ts'
import type { SettlementStore } from '../billing/settlement/settlement-store.ts'
import type { SettlementRecord } from '../core/calls/call-job.ts'
import { ApiError } from '../core/kernel/errors.ts'
import type { Operator, RunAudited } from './audit-log.ts'

/** Operators' decisions about quarantined and conflicting settlements, recorded in the audit log. Throws ApiError. */
export function createSettlementDecisions(options: {
  quarantine: QuarantineStore
  conflicts: ConflictStore
  settlements: Pick<SettlementStore, 'settle'>
  holds: Pick<HoldStore, 'apply' | 'forgetAllowances'>
  auditedAction: RunAudited
}) {
  const { quarantine, conflicts, settlements, holds, auditedAction } = options

  const find = async (callId: string): Promise<SettlementRecord> => {
    const found = (await quarantine.open()).find(({ id }) => id === callId)
    if (!found) throw new ApiError('not_found', `No settlement of ${callId} is in quarantine.`)
    return JSON.parse(found.record) as SettlementRecord
  }

  const settle = async (record: SettlementRecord): Promise<void> => {
    const { accounts, quarantined, superseded } = await settlements.settle([record])
    const [refused] = quarantined
    if (refused) throw new ApiError('invalid_request', `The database still rejects it: ${refused.reason}`)
    for (const { accountId, released, ...ledger } of accounts) await holds.apply(accountId, ledger, released)
    for (const call of superseded) await holds.forgetAllowances(call)
  }

  return {
    /** Settles a quarantined record unchanged, once the cause is fixed. */
    async retry(operator: Operator, callId: string): Promise<void> {
      const record = await find(callId)
      const action = { action: 'quarantine.retry', target: callId, details: {} }
      await auditedAction(operator, action, () => settle(record))
    },

    /** Charges nothing and releases the hold. A record of no call, or of an archived one, is closed instead of settled. */
    async waive(operator: Operator, callId: string): Promise<'settled' | 'closed'> {
      const record = await find(callId)
      return auditedAction(
        operator,
        { action: 'quarantine.waive', target: callId, details: {} },
        async () => {
          if (await quarantine.isUnsettleable(callId)) {
            await quarantine.close(callId)
            return 'closed'
          }
          await settle({ ...record, status: 'failed', errorCode: 'internal_error', chargePico: '0' })
          return 'settled'
        },
      )
    },

    /** Closes a call with contradicting records; false if it was closed before. */
    closeConflict: (operator: Operator, callId: string, reason: string): Promise<boolean> =>
      auditedAction(operator, { action: 'conflict.close', target: callId, details: { reason } }, () =>
        conflicts.review(callId, reason),
      ),
  }
}
