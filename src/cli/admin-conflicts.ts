import { createConflictStore } from '../billing/settlement/conflict-store.ts'
import { formatUsd, picoUsd } from '../core/kernel/money.ts'
import type { CommandClients } from './clients.ts'
import { type CommandOutput, UsageError } from './run-command.ts'
import { lines } from './views.ts'

/** `admin conflict list|close`: calls whose records contradict each other wait for a decision here. */
export function conflictCommands(clients: CommandClients) {
  const store = createConflictStore(clients.postgres)
  return {
    async list(): Promise<CommandOutput> {
      const views = (await store.open()).map(({ callId, accountId, status, chargePico, aside }) => ({
        call_id: callId,
        account_id: accountId,
        status,
        charge_usd: formatUsd(picoUsd(chargePico)),
        set_aside: aside.map((record) => ({
          outcome: record.outcome,
          served_by_a_worker: !record.unserved,
          status: record.status,
          error_code: record.errorCode,
          completion_tokens: record.completionTokens,
          charge_usd: formatUsd(picoUsd(record.chargePico)),
          settled_at: record.createdAt.toISOString(),
        })),
      }))
      const text = views
        .map(({ set_aside, ...call }) =>
          [lines(call), ...set_aside.map((record) => lines(record))].join('\n'),
        )
        .join('\n\n')
      return { data: { conflicts: views }, text: text || 'No call has records that contradict each other.' }
    },

    /** Notes the decision; the audit names the call no more. */
    async close(callId: string | undefined, reason: string | undefined): Promise<CommandOutput> {
      if (!callId) throw new UsageError('name the call: its id, as in the audit')
      if (!reason) throw new UsageError('say what was decided: --reason TEXT')
      const isNew = await store.review(callId, reason)
      const view = { call_id: callId, closed: isNew }
      return { data: view, text: isNew ? lines(view) : `${callId} was closed before.` }
    },
  }
}
