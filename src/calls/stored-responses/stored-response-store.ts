import type { ResponsePart } from '../../core/calls/responses-items.ts'
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
/**
 * pg takes values as text only. Base64 is decoded in a third of the time that hexadecimal takes, half a millisecond a
 * slice; long values are read in slices, each in a turn of its own.
 */
const SLICE_BYTES = 512 * 1024

/** Who asks: a key of an account. */
export interface StoredResponseReader {
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

/** A stored response with the part of it that is to be read. */
export interface WantedResponse extends StoredResponse {
  part: ResponsePart
}

/** What was read, as JSON in UTF-8. What was not asked for is `null`. */
export interface ReadResponse {
  callId: string
  response: Buffer
  input: Buffer
}

export const wantedWhole = (found: StoredResponse): WantedResponse => ({ ...found, part: 'both' })

function columnsOf({ inputBytes, part }: WantedResponse): Column[] {
  if (inputBytes === null || part === 'response') return ['sealed']
  return part === 'input' ? ['sealed_input'] : ['sealed', 'sealed_input']
}

/** The bytes that reading its part takes. */
export const bytesToRead = (wanted: WantedResponse): number =>
  columnsOf(wanted).reduce(
    (sum, column) => sum + (column === 'sealed' ? wanted.responseBytes : (wanted.inputBytes ?? 0)),
    0,
  )

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

type Column = 'sealed' | 'sealed_input'

/** The values of calls $2: in column `sealed` of those in $3, in column `sealed_input` of those in $4. */
const VALUES = `
SELECT call_id AS "callId", encode(CASE WHEN call_id = ANY($3) THEN sealed END, 'base64') AS sealed,
  encode(CASE WHEN call_id = ANY($4) THEN sealed_input END, 'base64') AS sealed_input
FROM stored_responses WHERE account_id = $1 AND call_id = ANY($2)`
const sliceOf = (column: Column): string =>
  `SELECT encode(substring(${column} FROM $3 FOR ${SLICE_BYTES}), 'base64') AS slice
   FROM stored_responses WHERE account_id = $1 AND call_id = $2`

type Values = { callId: string } & { [column in Column]?: Buffer | null }

const bytesOf = (base64: string | null): Buffer | null =>
  base64 === null ? null : Buffer.from(base64, 'base64')

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

  const find = (
    { accountId, keyId }: StoredResponseReader,
    ids: readonly string[],
  ): Promise<StoredResponse[]> => plain.query<StoredResponse>(FIND, [accountId, keyId, ids])

  const readSlices = async (accountId: string, callId: string, column: Column) => {
    const slices: Buffer[] = []
    for (let from = 1; ; from += SLICE_BYTES) {
      const [row] = await inTurn(accountId, () =>
        plain.query<{ slice: string | null }>(sliceOf(column), [accountId, callId, from]),
      )
      const slice = row && bytesOf(row.slice)
      if (!slice) return null
      slices.push(slice)
      if (slice.length < SLICE_BYTES) return Buffer.concat(slices)
    }
  }
  const readLong = async (accountId: string, wanted: WantedResponse): Promise<Values[]> => {
    const { callId } = wanted
    const values: Values = { callId }
    for (const column of columnsOf(wanted)) {
      const value = await readSlices(accountId, callId, column)
      if (value === null) return []
      values[column] = value
    }
    return [values]
  }
  const readTogether = async (accountId: string, batch: readonly WantedResponse[]): Promise<Values[]> => {
    const idsWith = (column: Column) =>
      batch.filter((wanted) => columnsOf(wanted).includes(column)).map(({ callId }) => callId)
    const ids = batch.map(({ callId }) => callId)
    const values = [accountId, ids, idsWith('sealed'), idsWith('sealed_input')]
    type Row = { callId: string } & Record<Column, string | null>
    const rows = await inTurn(accountId, () => plain.query<Row>(VALUES, values))
    return rows.map(({ callId, sealed, sealed_input: sealedInput }) => ({
      ...{ callId, sealed: bytesOf(sealed), sealed_input: bytesOf(sealedInput) },
    }))
  }
  const opened = async (accountId: string, row: Values, isSplit: boolean): Promise<ReadResponse> => {
    const { callId, sealed, sealed_input: sealedInput } = row
    const open = (box: Buffer | null | undefined, part: 'response' | 'input') =>
      box ? sealer.openLater(box, contextOf(accountId, callId, part)) : NOT_READ
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
    find: async (reader: StoredResponseReader, id: string): Promise<StoredResponse | null> =>
      (await find(reader, [id]))[0] ?? null,

    /** Those of some responses that the reader has. */
    findAll: find,

    /** Null: there is no such response. */
    state: async (reader: StoredResponseReader, id: string): Promise<StoredResponse['state'] | null> =>
      (await find(reader, [id]))[0]?.state ?? null,

    /** The latest responses of an account, for its export. */
    latest: (accountId: string): Promise<StoredResponse[]> =>
      plain.query<StoredResponse>(LATEST, [accountId, null]),

    /**
     * Reads the wanted parts, in their order and without what is gone meanwhile. The caller has bounded its bytes. Rejects
     * with ApiError `overloaded` where the account has no turn in time.
     */
    async read(accountId: string, all: readonly WantedResponse[]): Promise<ReadResponse[]> {
      const read: ReadResponse[] = []
      for (const batch of batchesOf(all)) {
        const [only] = batch
        const isLong = batch.length === 1 && bytesToRead(only!) > SLICE_BYTES
        const rows = await (isLong ? readLong(accountId, only!) : readTogether(accountId, batch))
        for (const { callId, inputBytes } of batch) {
          const row = rows.find((each) => each.callId === callId)
          if (row) read.push(await opened(accountId, row, inputBytes !== null))
        }
      }
      return read
    },

    /** The responses that a new one continues, of `maxBytes` at most. */
    async chain({ accountId, keyId }: StoredResponseReader, id: string, maxBytes: number): Promise<Chain> {
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
    async delete({ accountId, keyId }: StoredResponseReader, id: string): Promise<boolean> {
      const deleted = await plain.query(
        `DELETE FROM stored_responses WHERE ${READABLE} AND call_id = $3 RETURNING call_id`,
        [accountId, keyId, id],
      )
      return deleted.length > 0
    },

    /** Cancels a response that runs; its instance ends its call. Has no effect on others. */
    async cancel({ accountId, keyId }: StoredResponseReader, id: string): Promise<void> {
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
function batchesOf(all: readonly WantedResponse[]): WantedResponse[][] {
  const batches: WantedResponse[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const each of all) {
    const more = bytesToRead(each)
    if (bytes + more > SLICE_BYTES) {
      batches.push([])
      bytes = 0
    }
    batches.at(-1)!.push(each)
    bytes += more
  }
  return batches
}

const NOT_READ = Buffer.from('null')
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

export async function pruneStoredResponses(postgres: Postgres): Promise<void> {
  let deleted: number
  do {
    deleted = await postgres.$executeRaw`
      DELETE FROM stored_responses WHERE call_id IN (
        SELECT call_id FROM stored_responses WHERE expires_at <= now() LIMIT ${PRUNED_AT_ONCE})`
  } while (deleted === PRUNED_AT_ONCE)
}
