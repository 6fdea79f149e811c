import { parseArgs } from 'node:util'
import { auditAllowances } from '../billing/allowance-audit.ts'
import { createAllowanceStore } from '../billing/allowance-store.ts'
import { createBalanceStore } from '../billing/balance-store.ts'
import { auditGates, type GateAudit } from '../billing/gate-audit.ts'
import { createGateInspection } from '../billing/gate-inspection.ts'
import { createHoldGate } from '../billing/hold-gate.ts'
import { findKnownCalls } from '../billing/known-calls.ts'
import { auditLedger, type LedgerAudit } from '../billing/ledger-audit.ts'
import { createSpendStore } from '../billing/spend-store.ts'
import { readConfig } from '../config.ts'
import { createFindQueuedCalls } from '../platform/queued-calls.ts'
import { createDispatchQueue, createSettlementQueue } from '../platform/queues.ts'
import { type CommandClients, openClients } from './clients.ts'
import { type CommandOutput, runCommand } from './run-command.ts'
import { lines, usd } from './views.ts'

/**
 * `npm run audit [-- --json]`: sums the ledger against balances, call records, the gates and allowances in Redis, and
 * prints every figure and every discrepancy. Exits 1 if there is a discrepancy, or if it could not look.
 * Safe and exact while calls run.
 */
async function main(args: string[]): Promise<CommandOutput> {
  parseArgs({ args, options: { json: { type: 'boolean' } } })
  const clients = openClients(readConfig(process.env), 'switchyard-audit', 0)
  try {
    const ledger = await auditLedger(clients.postgres)
    const gates = await auditRedis(clients)
    const allowances = await auditAllowances({
      postgres: clients.postgres,
      allowances: createAllowanceStore(clients.redis(), createSpendStore(clients.postgres)),
      clock: Date.now,
    })
    return report(ledger, { ...gates, checks: [...gates.checks, allowances] })
  } finally {
    await clients.close()
  }
}

const COUNTED_STATES = ['waiting', 'active', 'delayed', 'prioritized'] as const

async function auditRedis({ postgres, redis: connect }: CommandClients): Promise<GateAudit> {
  const redis = connect()
  const dispatch = createDispatchQueue(redis)
  const settlement = createSettlementQueue(redis)
  try {
    return await auditGates({
      gate: createHoldGate(redis),
      inspection: createGateInspection(redis),
      balances: createBalanceStore(postgres),
      countJobs: async () => ({
        dispatchJobs: await dispatch.getJobCountByTypes(...COUNTED_STATES),
        settlementJobs: await settlement.getJobCountByTypes(...COUNTED_STATES),
      }),
      findQueued: createFindQueuedCalls(dispatch, settlement),
      accountedFor: async (callIds) => {
        const { settled, quarantined } = await findKnownCalls(postgres, callIds)
        return settled.union(quarantined)
      },
      clock: Date.now,
    })
  } finally {
    await Promise.all([dispatch.close(), settlement.close()])
  }
}

function report(ledger: LedgerAudit, gates: GateAudit): CommandOutput {
  const checks = [...ledger.checks, ...gates.checks]
  const discrepancies = checks.flatMap((check) => check.discrepancies)
  const broken = checks.reduce((sum, check) => sum + check.broken, 0)
  const figures = { ...figuresView(ledger.figures), ...figuresView(gates.figures) }
  const verdict = broken === 0 ? 'The books are in order.' : `${broken} DISCREPANCIES`
  return {
    data: {
      ok: broken === 0,
      figures,
      checks: checks.map(({ name, broken }) => ({ name, broken })),
      discrepancies,
    },
    text: [
      lines(figures),
      checks.map(({ name, broken }) => `${broken === 0 ? 'ok    ' : 'BROKEN'}  ${name}`).join('\n'),
      ...discrepancies.map(({ subject, detail, check }) => `${subject}: ${detail}\n  breaks: ${check}`),
      verdict,
    ].join('\n\n'),
    failed: broken > 0,
  }
}

/** `revenuePico: 1500000000000n` becomes `revenue_usd: "1.50"`; counts stay counts. */
function figuresView(figures: object): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(figures).map(([name, value]: [string, bigint | number]) => {
      const words = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
      return words.endsWith('_pico')
        ? [words.replace(/_pico$/, '_usd'), usd(BigInt(value))]
        : [words, Number(value)]
    }),
  )
}

const args = process.argv.slice(2)
await runCommand(args.includes('--json'), () => main(args))
