import type { CallId } from '../../core/kernel/ids.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { ByteSealer } from '../../platform/sealing.ts'

/** The request and the completion of one call, each as JSON text of a bounded length. */
export interface PromptLog {
  request: string
  isRequestTruncated: boolean
  /** A CompletionMessage, as far as there was a completion. */
  answer: string
  isAnswerTruncated: boolean
}

/** The owner of a call. */
export interface PromptLogOwner {
  accountId: string
  keyId: string
  callId: CallId
}

export interface StoredPromptLog extends PromptLog {
  callId: string
  keyId: string
  createdAt: Date
  expiresAt: Date
}

/** The sealing purpose. */
export const PROMPT_LOG_PURPOSE = 'prompt-log'

/** Binds a log to its account and call. */
const contextOf = (accountId: string, callId: string): string => `${accountId}/${callId}`

/**
 * Stores nothing for a key whose holder disabled logging meanwhile, nor beyond the maximum of an account: a constant
 * number of bytes, and at most what is left for all others.
 */
const PUT = `
INSERT INTO prompt_logs (call_id, account_id, key_id, sealed, expires_at)
SELECT $1, $2, id, $4::bytea, now() + $5 * interval '1 day' FROM api_keys
WHERE id = $3 AND account_id = $2 AND prompt_log_days IS NOT NULL
  AND octet_length($4::bytea) + coalesce((SELECT bytes FROM prompt_log_bytes WHERE account_id = $2), 0)
    <= least($6::bigint, $7::bigint - (SELECT coalesce(sum(bytes), 0) FROM prompt_log_bytes))
ON CONFLICT DO NOTHING`

/** Maximum bytes of stored logs. */
export interface PromptLogLimits {
  bytesPerAccount: number
  bytesInAll: number
}

/** Maximum logs in an export, which is one response. */
const EXPORTED_MAX = 50
const PRUNED_AT_ONCE = 1_000

/** Prompt logs in PostgreSQL, sealed under the master key and bound to their account and call. */
export type PromptLogStore = ReturnType<typeof createPromptLogStore>

export function createPromptLogStore(postgres: Postgres, sealer: ByteSealer, limits: PromptLogLimits) {
  const opened = (row: {
    callId: string
    accountId: string
    keyId: string
    sealed: Uint8Array
    createdAt: Date
    expiresAt: Date
  }): StoredPromptLog => {
    const { callId, accountId, keyId, createdAt, expiresAt } = row
    const text = sealer.openBytes(Buffer.from(row.sealed), contextOf(accountId, callId)).toString()
    const log = JSON.parse(text) as PromptLog
    return { ...log, callId, keyId, createdAt, expiresAt }
  }
  const unexpired = () => ({ expiresAt: { gt: new Date() } })
  return {
    /** Returns false if nothing was stored: the key no longer logs, or its account has reached its maximum. */
    async put({ accountId, keyId, callId }: PromptLogOwner, log: PromptLog, days: number): Promise<boolean> {
      const sealed = await sealer.sealLater(JSON.stringify(log), contextOf(accountId, callId))
      const owner = [callId, accountId, keyId]
      const most = [BigInt(limits.bytesPerAccount), BigInt(limits.bytesInAll)]
      return (await postgres.$executeRawUnsafe(PUT, ...owner, sealed, days, ...most)) > 0
    },

    /** The log of an account's call, still sealed; null if there is none. `open` throws if it cannot be decrypted. */
    async find(accountId: string, callId: string) {
      const row = await postgres.promptLog.findFirst({ where: { callId, accountId, ...unexpired() } })
      return row && { keyId: row.keyId, open: () => opened(row) }
    },

    /** When the logs of some calls expire, for those that have one. */
    async expiries(callIds: readonly string[]): Promise<ReadonlyMap<string, Date>> {
      const where = { callId: { in: [...callIds] }, ...unexpired() }
      const rows = await postgres.promptLog.findMany({ where, select: { callId: true, expiresAt: true } })
      return new Map(rows.map((row) => [row.callId, row.expiresAt]))
    },

    /** The latest logs of an account, for its export. */
    async latest(accountId: string): Promise<StoredPromptLog[]> {
      const rows = await postgres.promptLog.findMany({
        where: { accountId, ...unexpired() },
        orderBy: { createdAt: 'desc' },
        take: EXPORTED_MAX,
      })
      return rows.map(opened)
    },

    /** Deletes all logs of a key. Returns their number. */
    async deleteOfKey(keyId: string): Promise<number> {
      return (await postgres.promptLog.deleteMany({ where: { keyId } })).count
    },
  }
}

export async function prunePromptLogs(postgres: Postgres): Promise<void> {
  let deleted: number
  do {
    deleted = await postgres.$executeRaw`
      DELETE FROM prompt_logs WHERE call_id IN (
        SELECT call_id FROM prompt_logs WHERE expires_at <= now() LIMIT ${PRUNED_AT_ONCE})`
  } while (deleted === PRUNED_AT_ONCE)
}
