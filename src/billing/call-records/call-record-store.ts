import type { AttemptRecord } from '../../core/calls/call-job.ts'
import type { TokenRates } from '../../core/catalog/catalog.ts'
import { picoUsdPerToken } from '../../core/kernel/money.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { CallRecord as CallRow } from '../../platform/prisma-client/client.ts'

/** A settled call without its attempts, which say where it went. Amounts in pico-USD, times in unix milliseconds. */
export type ListedCall = Omit<CallRow, 'attempts' | `${string}AtMs`> & {
  admittedAt: number
  claimedAt: number | null
  firstTokenAt: number | null
  finishedAt: number
  settledAt: number
}

/** A settled call. */
export type CallRecord = ListedCall & { attempts: AttemptRecord[] }

export interface CallRecordStore {
  find(callId: string): Promise<CallRecord | null>
  /** The latest calls that carried this request id, at most ten. Clients may send one twice. Reads the whole table. */
  findByRequestId(requestId: string): Promise<CallRecord[]>
}

/** Settled calls from PostgreSQL. */
export function createCallRecordStore(postgres: Postgres): CallRecordStore {
  return {
    async find(callId) {
      const row = await postgres.callRecord.findUnique({ where: { id: callId } })
      return row && toRecord(row)
    },
    async findByRequestId(requestId) {
      const rows = await postgres.callRecord.findMany({
        where: { requestId },
        orderBy: { admittedAtMs: 'desc' },
        take: 10,
      })
      return rows.map(toRecord)
    },
  }
}

function toRecord({ attempts, ...row }: CallRow): CallRecord {
  // Written by the settlement store alone, from records of this shape.
  return { ...toListedCall(row), attempts: attempts as unknown as AttemptRecord[] }
}

/** A row of call_records, its times as numbers. */
export function toListedCall({
  admittedAtMs,
  claimedAtMs,
  firstTokenAtMs,
  finishedAtMs,
  settledAtMs,
  ...row
}: Omit<CallRow, 'attempts'>): ListedCall {
  return {
    ...row,
    admittedAt: Number(admittedAtMs),
    claimedAt: claimedAtMs === null ? null : Number(claimedAtMs),
    firstTokenAt: firstTokenAtMs === null ? null : Number(firstTokenAtMs),
    finishedAt: Number(finishedAtMs),
    settledAt: Number(settledAtMs),
  }
}

/** The rates a call was charged at; null where nothing served it. */
export const ratesOf = (call: ListedCall): TokenRates | null =>
  toRates(call.promptRatePico, call.completionRatePico, call.promptAudioRatePico, call.promptImageRatePico)

/** What we pay its provider; null where nothing served it. */
export const costRatesOf = (call: ListedCall): TokenRates | null =>
  toRates(call.promptCostPico, call.completionCostPico, call.promptAudioCostPico, call.promptImageCostPico)

function toRates(
  prompt: bigint | null,
  completion: bigint | null,
  audio: bigint | null,
  image: bigint | null,
): TokenRates | null {
  if (prompt === null || completion === null) return null
  return {
    prompt: picoUsdPerToken(prompt),
    completion: picoUsdPerToken(completion),
    ...(audio !== null && { promptAudio: picoUsdPerToken(audio) }),
    ...(image !== null && { promptImage: picoUsdPerToken(image) }),
  }
}
