import type { StoredItem } from '../../core/calls/responses-items.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Postgres } from '../../platform/postgres/postgres.ts'
import type { ByteSealer } from '../../platform/sealing.ts'
import { createAccountTurns } from '../api/account-turns.ts'
import { createStoredResponseSpace, type StoredResponseLimits } from './stored-response-space.ts'

/** The sealing purpose. */
export const STORED_RESPONSE_PURPOSE = 'stored-response'

/** Retention. */
export const STORED_RESPONSE_DAYS = 30
/** Maximum responses of one conversation. */
const CHAIN_MAX = 1_000
const PRUNED_AT_ONCE = 500

/** How long a response in background counts as running after its instance last confirmed it. */
export const RUNNING_FOR_MS = 30_000

/** The size of the pool that is for this store alone. */
export const STORED_RESPONSES_POOL = 3
/** Statements with long values take turns, and one account never all of them. */
const TURNS = { atOnce: STORED_RESPONSES_POOL, perAccount: STORED_RESPONSES_POOL - 1 }
const TURN_WAIT_MS = 5_000
/** pg reads bytes as hexadecimal text, so long values are read in slices, each in a turn of its own. */
const SLICE_BYTES = 512 * 1024

/** A response object of the API. */
export type ResponseObject = Record<string, unknown> & { id: string; status: string; output: StoredItem[] }

/** Who asks: a key of an account. */
export interface ResponseReader {
  accountId: string
  /** The key, which has its own responses. Null: those of all keys of the account. */
  keyId: string | null
}

/** A stored response without its content. */
export interface StoredResponse {
  callId: string
  previousId: string | null
  /** `lost`: its instance ended without its result. */
  state: 'ended' | 'running' | 'cancelled' | 'lost'
  responseBytes: number
  /** Null: the response and its input are one value of `responseBytes`. */
  inputBytes: number | null
}

/** What is read of a response: the response object, the items of its input without the turns before it, or both. */
export type ResponsePart = 'response' | 'input' | 'both'

/** What was read, as JSON in UTF-8. What was not asked for is empty. */
export interface ReadResponse {
  callId: string
  response: Buffer
  input: Buffer
}

/** The bytes that reading a part takes. */
export function bytesToRead({ responseBytes, inputBytes }: StoredResponse, part: ResponsePart): number {
  if (inputBytes === null || part === 'response') return responseBytes
  return part === 'input' ? inputBytes : responseBytes + inputBytes
}

/** A response to store. */
export interface TurnToStore {
  callId: CallId
  accountId: string
  keyId: string
  previousId: string | null
  /** A ResponseObject, JSON. */
  response: string
  /** The StoredItems of its input, JSON. */
  input: string
  isRunning: boolean
}

/** Binds a part to its account and call. */
const contextOf = (accountId: string, callId: string, part: 'response' | 'input'): string =>
  part === 'response' ? `${accountId}/${callId}` : `${accountId}/${callId}/input`

const STATE = `
CASE WHEN cancelled THEN 'cancelled' WHEN running_until IS NULL THEN 'ended'
  WHEN running_until > now() THEN 'running' ELSE 'lost' END AS state`

const SIZES = `octet_length(sealed) AS "responseBytes", octet_length(sealed_input) AS "inputBytes"`
const BYTES = 'octet_length(sealed) + coalesce(octet_length(sealed_input), 0)'

/**
 * What a reader ($1: account, $2: key or null) may read. Rows of before keys were noted have the key of their call
 * record, or belong to the account until there is one.
 */
const READABLE = `stored_responses.account_id = $1 AND expires_at > now() AND ($2::text IS NULL OR $2 = coalesce(key_id,
  (SELECT call_records.key_id FROM call_records WHERE call_records.id = stored_responses.call_id), $2))`

const FIND = `
SELECT call_id AS "callId", previous_id AS "previousId", ${SIZES}, ${STATE} FROM stored_responses
WHERE ${READABLE} AND call_id = ANY($3)`

/** Maximum responses in an export, which is one response, and their bytes. */
const EXPORTED_MAX = 50
const EXPORTED_BYTES_MAX = 16 * 1024 * 1024

const LATEST = `
SELECT "callId", "previousId", "responseBytes", "inputBytes", state FROM (
  SELECT call_id AS "callId", previous_id AS "previousId", ${SIZES}, ${STATE},
    sum(${BYTES}) OVER (ORDER BY call_id DESC) AS bytes
  FROM stored_responses WHERE ${READABLE} ORDER BY call_id DESC LIMIT ${EXPORTED_MAX}
) AS newest WHERE bytes <= ${EXPORTED_BYTES_MAX} ORDER BY "callId" DESC`

/** A response ($3) and those it continues, newest first, as far as $4 bytes and ${CHAIN_MAX} responses. */
const CHAIN = `
WITH RECURSIVE chain AS (
  SELECT call_id, previous_id, 1 AS number, (${BYTES})::bigint AS bytes FROM stored_responses
  WHERE ${READABLE} AND call_id = $3
  UNION ALL
  SELECT stored_responses.call_id, stored_responses.previous_id, number + 1, bytes + ${BYTES}
  FROM chain JOIN stored_responses ON stored_responses.call_id = chain.previous_id
  WHERE ${READABLE} AND number <= ${CHAIN_MAX} AND bytes <= $4
)
SELECT call_id AS "callId", chain.previous_id AS "previousId", ${SIZES}, ${STATE},
  number <= ${CHAIN_MAX} AND bytes <= $4 AS "isWithin"
FROM chain JOIN stored_responses USING (call_id) ORDER BY number`

/** The values of a part. What is one value for both parts is read for each. */
const VALUES: Record<ResponsePart, string> = {
  response: 'sealed, NULL::bytea AS "sealedInput"',
  input: 'CASE WHEN sealed_input IS NULL THEN sealed END AS sealed, sealed_input AS "sealedInput"',
  both: 'sealed, sealed_input AS "sealedInput"',
}
const valuesOf = (part: ResponsePart): string =>
  `SELECT call_id AS "callId", ${VALUES[part]} FROM stored_responses WHERE account_id = $1 AND call_id = ANY($2)`
const sliceOf = (column: 'sealed' | 'sealed_input'): string =>
  `SELECT substring(${column} FROM $3 FOR ${SLICE_BYTES}) AS slice FROM stored_responses WHERE account_id = $1 AND call_id = $2`

const COLUMNS = { response: 'sealed', input: 'sealed_input' } as const

interface Values {
  callId: string
  sealed: Buffer | null
  sealedInput: Buffer | null
}

/** The responses that a new one continues, oldest first. */
export type Chain =
  | { kind: 'found'; turns: StoredResponse[] }
  /** The response itself, or one that it continues, does not exist for this reader. */
  | { kind: 'missing'; id: string }
  | { kind: 'too-long' }
  /** It still runs, or was cancelled. */
  | { kind: 'unfinished' }

/** Stored responses in PostgreSQL, sealed under the master key and bound to their account and call. */
export type StoredResponseStore = ReturnType<typeof createStoredResponseStore>

export function createStoredResponseStore(
  { plain }: Pick<Postgres, 'plain'>,
  sealer: ByteSealer,
  limits: StoredResponseLimits,
) {
  const turns = createAccountTurns(TURNS)
  const inTurn = async <T>(accountId: string, work: () => Promise<T>): Promise<T> => {
    const end = await turns.take(accountId, TURN_WAIT_MS)
    try {
      return await work()
    } finally {
      end()
    }
  }
  const space = createStoredResponseSpace(plain, limits)

  const find = ({ accountId, keyId }: ResponseReader, ids: readonly string[]): Promise<StoredResponse[]> =>
    plain.query<StoredResponse>(FIND, [accountId, keyId, ids])

  const readSlices = async (accountId: string, callId: string, column: 'sealed' | 'sealed_input') => {
    const slices: Buffer[] = []
    for (let from = 1; ; from += SLICE_BYTES) {
      const [row] = await inTurn(accountId, () =>
        plain.query<{ slice: Buffer }>(sliceOf(column), [accountId, callId, from]),
      )
      if (!row) return null
      slices.push(row.slice)
      if (row.slice.length < SLICE_BYTES) return Buffer.concat(slices)
    }
  }
  const readLong = async (
    accountId: string,
    { callId, inputBytes }: StoredResponse,
    part: ResponsePart,
  ): Promise<Values[]> => {
    const columns: Array<'sealed' | 'sealed_input'> =
      inputBytes === null ? ['sealed'] : part === 'both' ? ['sealed', 'sealed_input'] : [COLUMNS[part]]
    const values: Values = { callId, sealed: null, sealedInput: null }
    for (const column of columns) {
      const value = await readSlices(accountId, callId, column)
      if (value === null) return []
      if (column === 'sealed') values.sealed = value
      else values.sealedInput = value
    }
    return [values]
  }
  const opened = async (accountId: string, row: Values, isSplit: boolean): Promise<ReadResponse> => {
    const { callId, sealed, sealedInput } = row
    const open = (box: Buffer | null, part: 'response' | 'input') =>
      box === null ? Buffer.alloc(0) : sealer.openLater(box, contextOf(accountId, callId, part))
    const response = await open(sealed, 'response')
    return isSplit
      ? { callId, response, input: await open(sealedInput, 'input') }
      : { callId, ...partsOf(response) }
  }

  return {
    /**
     * Stores a response; the oldest of its account, or of the account that stores most, give way. Returns false if
     * nothing was stored.
     */
    async put(turn: TurnToStore): Promise<boolean> {
      const { callId, accountId, keyId, previousId, isRunning } = turn
      const sealed = await sealer.sealLater(turn.response, contextOf(accountId, callId, 'response'))
      const sealedInput = await sealer.sealLater(turn.input, contextOf(accountId, callId, 'input'))
      return inTurn(accountId, () =>
        space.put({
          ...{ callId, accountId, keyId, previousId, sealed, sealedInput },
          runningForMs: isRunning ? RUNNING_FOR_MS : null,
          keptForDays: STORED_RESPONSE_DAYS,
        }),
      )
    },

    /** Stores the end of a response in background, unless it was deleted. */
    async end({
      callId,
      accountId,
      response,
    }: Pick<TurnToStore, 'callId' | 'accountId' | 'response'>): Promise<void> {
      const sealed = await sealer.sealLater(response, contextOf(accountId, callId, 'response'))
      await inTurn(accountId, () =>
        plain.query(
          'UPDATE stored_responses SET sealed = $3::bytea, running_until = NULL WHERE call_id = $1 AND account_id = $2',
          [callId, accountId, sealed],
        ),
      )
    },

    /** Null if the reader has no such response. */
    find: async (reader: ResponseReader, id: string): Promise<StoredResponse | null> =>
      (await find(reader, [id]))[0] ?? null,

    /** Those of some responses that the reader has. */
    findAll: find,

    /** Null: there is no such response. */
    state: async (reader: ResponseReader, id: string): Promise<StoredResponse['state'] | null> =>
      (await find(reader, [id]))[0]?.state ?? null,

    /** The latest responses of an account, for its export. */
    latest: (accountId: string): Promise<StoredResponse[]> =>
      plain.query<StoredResponse>(LATEST, [accountId, null]),

    /**
     * Reads what was found, in its order and without what is gone meanwhile. The caller has bounded its bytes. Rejects
     * with ApiError `overloaded` where the account has no turn in time.
     */
    async read(
      accountId: string,
      found: readonly StoredResponse[],
      part: ResponsePart,
    ): Promise<ReadResponse[]> {
      const read: ReadResponse[] = []
      for (const batch of batchesOf(found, part)) {
        const [only] = batch
        const isLong = batch.length === 1 && bytesToRead(only!, part) > SLICE_BYTES
        const ids = batch.map(({ callId }) => callId)
        const rows = isLong
          ? await readLong(accountId, only!, part)
          : await inTurn(accountId, () => plain.query<Values>(valuesOf(part), [accountId, ids]))
        for (const { callId, inputBytes } of batch) {
          const row = rows.find((each) => each.callId === callId)
          if (row) read.push(await opened(accountId, row, inputBytes !== null))
        }
      }
      return read
    },

    /** The responses that a new one continues, of `maxBytes` at most. */
    async chain({ accountId, keyId }: ResponseReader, id: string, maxBytes: number): Promise<Chain> {
      type ChainRow = StoredResponse & { isWithin: boolean }
      const rows = await plain.query<ChainRow>(CHAIN, [accountId, keyId, id, maxBytes])
      const [last, first] = [rows[0], rows.at(-1)]
      if (!last || !first) return { kind: 'missing', id }
      if (last.state !== 'ended') return { kind: 'unfinished' }
      if (!first.isWithin) return { kind: 'too-long' }
      if (first.previousId !== null) return { kind: 'missing', id: first.previousId }
      return { kind: 'found', turns: rows.reverse() }
    },

    /** Returns false if the reader has no such response. One that still runs is ended. */
    async delete({ accountId, keyId }: ResponseReader, id: string): Promise<boolean> {
      const deleted = await plain.query(
        `DELETE FROM stored_responses WHERE ${READABLE} AND call_id = $3 RETURNING call_id`,
        [accountId, keyId, id],
      )
      return deleted.length > 0
    },

    /** Cancels a response that runs; its instance ends its call. Has no effect on others. */
    async cancel({ accountId, keyId }: ResponseReader, id: string): Promise<void> {
      await plain.query(
        `UPDATE stored_responses SET cancelled = true WHERE ${READABLE} AND call_id = $3 AND running_until > now()`,
        [accountId, keyId, id],
      )
    },

    /** Confirms that some responses run. Returns those that are neither cancelled nor deleted. */
    async renew(ids: readonly string[]): Promise<ReadonlySet<string>> {
      const rows = await plain.query<{ callId: string; cancelled: boolean }>(
        `UPDATE stored_responses SET running_until = now() + ${RUNNING_FOR_MS} * interval '1 ms'
         WHERE call_id = ANY($1) AND running_until IS NOT NULL RETURNING call_id AS "callId", cancelled`,
        [ids],
      )
      return new Set(rows.flatMap(({ callId, cancelled }) => (cancelled ? [] : [callId])))
    },
  }
}

/** Groups responses, in order, into batches that one statement reads. A longer one is a batch of its own. */
function batchesOf(found: readonly StoredResponse[], part: ResponsePart): StoredResponse[][] {
  const batches: StoredResponse[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const each of found) {
    const more = bytesToRead(each, part)
    if (bytes + more > SLICE_BYTES) {
      batches.push([])
      bytes = 0
    }
    batches.at(-1)!.push(each)
    bytes += more
  }
  return batches
}

const BEFORE_RESPONSE = '{"response":'
const BEFORE_INPUT = ',"input":['

/**
 * Splits what was stored as one value, `{"response":…,"input":[…]}`. No response has an array of this name, and in its
 * texts the quotation marks are escaped, so the first place is the right one.
 */
function partsOf(turn: Buffer): Pick<ReadResponse, 'response' | 'input'> {
  const at = turn.indexOf(BEFORE_INPUT)
  return {
    response: turn.subarray(BEFORE_RESPONSE.length, at),
    input: turn.subarray(at + BEFORE_INPUT.length - 1, -1),
  }
}

/** Deletes expired responses. */
export async function pruneStoredResponses(postgres: Postgres): Promise<void> {
  let deleted: number
  do {
    deleted = await postgres.$executeRaw`
      DELETE FROM stored_responses WHERE call_id IN (
        SELECT call_id FROM stored_responses WHERE expires_at <= now() LIMIT ${PRUNED_AT_ONCE})`
  } while (deleted === PRUNED_AT_ONCE)
}
