import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'

const CHECK_EVERY_MS = 200
const LONGEST_MS = 60_000

export interface SettlementDrain {
  /** Calls in the ledger at the end. */
  settled: number
  /** Seconds from the end of the load until nothing new was settled. */
  seconds: number
}

/** Waits until settlement has caught up: until the number of settled calls stands still. */
export async function waitForSettlement(databaseUrl: string): Promise<SettlementDrain> {
  const postgres = new Client({ connectionString: databaseUrl })
  await postgres.connect()
  const startedAt = performance.now()
  let settled = -1
  let changedAt = startedAt
  try {
    while (performance.now() - startedAt < LONGEST_MS && performance.now() - changedAt < 5 * CHECK_EVERY_MS) {
      const { rows } = await postgres.query<{ count: string }>('select count(*) from call_records')
      const count = Number(rows[0]?.count)
      if (count !== settled) {
        settled = count
        changedAt = performance.now()
      }
      await delay(CHECK_EVERY_MS)
    }
  } finally {
    await postgres.end()
  }
  return { settled, seconds: (changedAt - startedAt) / 1000 }
}
