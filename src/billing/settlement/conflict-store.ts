import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { SettlementConflict } from '../../platform/prisma-client/client.ts'

/** A call with records that settlement dropped, and the record that counts. */
export interface ConflictingCall {
  callId: string
  accountId: string
  status: string
  chargePico: bigint
  aside: SettlementConflict[]
}

const OPEN = `
SELECT id AS "callId", account_id AS "accountId", status::text, charge_pico AS "chargePico" FROM call_records
WHERE id IN (SELECT call_id FROM settlement_conflicts EXCEPT SELECT call_id FROM call_reviews)
ORDER BY id LIMIT 1000`

export type ConflictStore = ReturnType<typeof createConflictStore>

/** Records that contradict the settled ones, for an operator to review. */
export function createConflictStore(postgres: Postgres) {
  return {
    /** Calls that no operator has reviewed, by id; the first thousand. */
    async open() {
      const calls = await postgres.$queryRawUnsafe<Array<Omit<ConflictingCall, 'aside'>>>(OPEN)
      const conflicts = await postgres.settlementConflict.findMany({
        where: { callId: { in: calls.map(({ callId }) => callId) } },
        orderBy: { id: 'asc' },
      })
      const aside = Map.groupBy(conflicts, ({ callId }) => callId)
      return calls.map((call) => ({ ...call, aside: aside.get(call.callId) ?? [] }))
    },

    /** Stores the review of a call; false if it was reviewed before. Throws for an unknown call. */
    async review(callId: string, note: string) {
      await postgres.callRecord.findUniqueOrThrow({ where: { id: callId }, select: { id: true } })
      const { count } = await postgres.callReview.createMany({
        data: [{ callId, note }],
        skipDuplicates: true,
      })
      return count === 1
    },
  }
}
