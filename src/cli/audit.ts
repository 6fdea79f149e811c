import { parseArgs } from 'node:util'
import { createAuditRunStore } from '../billing/audit/audit-run-store.ts'
import { FAILURE_CREDIT_LIMITS } from '../billing/audit/failure-credit-audit.ts'
import { type AuditReport, runAudit } from '../billing/audit/run-audit.ts'
import { readConfig } from '../config.ts'
import { UNCHARGED_COST_LIMITS } from '../core/billing/uncharged-cost.ts'
import { closeCallQueues, openCallQueues } from '../platform/queues/call-queues.ts'
import { withClients } from './clients.ts'
import { type CommandOutput, lines, runAsProcess } from './run-command.ts'

/**
 * `npm run audit [-- --full] [--json]`: checks what was written since the last audit, or all with `--full`, compares the
 * ledger with balances, and with the balance caches and allowances in Redis, stores the result as a run, and prints totals and every
 * discrepancy. Exits 1
 * if there is a discrepancy or the audit failed, also where another one runs for more than a minute. Safe and exact while
 * calls run.
 */
export async function audit(args: string[], environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const { values } = parseArgs({ args, options: { json: { type: 'boolean' }, full: { type: 'boolean' } } })
  const config = readConfig(environment)
  const report = await withClients(
    config,
    'shuntyard-audit',
    async ({ postgres, redis }) => {
      const queues = openCallQueues(redis)
      try {
        const unchargedCost = UNCHARGED_COST_LIMITS
        const failureCredits = FAILURE_CREDIT_LIMITS
        const at = new Date()
        const report = await runAudit({
          postgres,
          redis,
          queues,
          clock: Date.now,
          unchargedCost,
          failureCredits,
          ...(values.full && { reach: 'full' as const }),
        })
        const durationMs = Date.now() - at.getTime()
        await createAuditRunStore(postgres).record({ at, durationMs, cause: 'operator', report })
        return report
      } finally {
        await closeCallQueues(queues)
      }
    },
    0,
  )
  return output(report)
}

function output({ broken, ...report }: AuditReport): CommandOutput {
  const { ok, isFull, figures, checks, discrepancies, failureCredits } = report
  return {
    data: report,
    text: [
      isFull ? 'Full audit: all rows.' : 'Audit of what was written since the last one.',
      lines(figures),
      ...failureCredits.map(
        ({ day, accountId, calls, creditedUsd, chargedUsd }) =>
          `${day} ${accountId}: ${calls} calls that failed for their callers credited, ${creditedUsd} of ${chargedUsd} USD`,
      ),
      checks.map(({ name, broken }) => `${broken === 0 ? 'ok    ' : 'BROKEN'}  ${name}`).join('\n'),
      ...discrepancies.map(({ subject, detail, check }) => `${subject}: ${detail}\n  breaks: ${check}`),
      ok ? 'The ledger and Redis are in order.' : `${broken} DISCREPANCIES`,
    ].join('\n\n'),
    failed: !ok,
  }
}

if (import.meta.main) await runAsProcess(audit)
