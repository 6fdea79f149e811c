import { createHoldGate } from '../billing/holds/hold-gate.ts'
import { createQuarantineStore, UNNAMED } from '../billing/settlement/quarantine-store.ts'
import { createSettlementStore } from '../billing/settlement/settlement-store.ts'
import type { SettlementRecord } from '../core/calls/call-job.ts'
import type { CommandClients } from './clients.ts'
import { type CommandOutput, UsageError } from './run-command.ts'
import { lines } from './views.ts'

/** `admin quarantine list|retry|waive`: settlements the database refused wait for a decision here. */
export function quarantineCommands(clients: CommandClients) {
  const quarantine = createQuarantineStore(clients.postgres)

  const find = async (callId: string | undefined): Promise<SettlementRecord> => {
    if (!callId) throw new UsageError('name the call: its id, as in quarantine list')
    const found = (await quarantine.open()).find((settlement) => settlement.id === callId)
    if (!found) throw new Error(`no settlement of ${callId} is in quarantine`)
    return JSON.parse(found.record) as SettlementRecord
  }
  const settle = async (record: SettlementRecord): Promise<CommandOutput> => {
    const { accounts, quarantined, superseded } = await createSettlementStore(clients.postgres).settle([
      record,
    ])
    const [refused] = quarantined
    if (refused) throw new Error(`still refused: ${refused.reason}`)
    const gate = createHoldGate(clients.redis())
    for (const { accountId, released, ...ledger } of accounts) await gate.apply(accountId, ledger, released)
    for (const call of superseded) await gate.forgetAllowances(call.accountId, call.keyId, call.admittedAt)
    const view = { call_id: record.id, settled: true }
    return { data: view, text: lines(view) }
  }

  return {
    async list(): Promise<CommandOutput> {
      const views = (await quarantine.open()).map((settlement) => ({
        call_id: settlement.id,
        reason: settlement.reason,
        created_at: settlement.createdAt.toISOString(),
        record: settlement.record,
      }))
      const text = views.map((view) => lines(view)).join('\n\n')
      return { data: { quarantined: views }, text: text || 'No settlement is in quarantine.' }
    },

    /** Settles the record as it is, once the cause is gone. */
    retry: async (callId: string | undefined): Promise<CommandOutput> => settle(await find(callId)),

    /** Charges nothing and releases the hold. */
    async waive(callId: string | undefined): Promise<CommandOutput> {
      const record = await find(callId)
      if (!callId?.startsWith(UNNAMED))
        return settle({ ...record, status: 'failed', errorCode: 'internal_error', chargePico: '0' })
      await quarantine.closeUnnamed(callId)
      const view = { call_id: callId, closed: true }
      return { data: view, text: lines(view) }
    },
  }
}
