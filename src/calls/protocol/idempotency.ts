import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { CallEnvelope, ResponseEnvelope } from '../../core/calls/call-job.ts'
import type { FrameBody, FrameError, RunOfCall } from '../../core/calls/frames.ts'
import { ApiError } from '../../core/kernel/errors.ts'
import type { CallId } from '../../core/kernel/ids.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import { defineScript, type Redis } from '../../platform/redis/redis.ts'
import {
  IDEMPOTENCY_ANSWERS,
  IDEMPOTENCY_DROPPED,
  IDEMPOTENCY_RECORDS,
  IDEMPOTENCY_SINCE,
  idempotencyKey,
  keptReplyKey,
} from '../../platform/redis/redis-keys.ts'
import type { Sealer } from '../../platform/sealing.ts'

/** How long a record of an Idempotency-Key and its answer are kept. */
export const IDEMPOTENCY_TTL_MS = 86_400_000

/** How much may be kept for one account, and for all of them together. */
interface KeptBounds {
  perAccount: number
  inAll: number
}

/** Lua functions that count entries and make room for them; put before a script. */
const BOUNDED_ENTRIES = readFileSync(new URL('./bounded-entries.lua', import.meta.url), 'utf8')

/**
 * What an Idempotency-Key stands for. States: claimed (a call is being admitted: no envelope; lapses) →
 * confirmed (admitted: it has an envelope) → ended. A call that did not complete frees its key.
 */
export interface IdempotencyRecord {
  callId: CallId
  /** Null while the call is being admitted, and where only its id is known any more. */
  envelope: ResponseEnvelope | null
  hasEnded: boolean
}

/** An Idempotency-Key as one request sent it. */
export interface KeyUse {
  accountId: string
  /** Names the record of the key. */
  digest: string
  /** Digest of the body: another body is another request. */
  fingerprint: string
  /** The call it is to stand for if it is new. */
  callId: CallId
}

export interface IdempotencyDependencies {
  redis: Redis
  /** The call that PostgreSQL knows a key to stand for, if any. Asked only when Redis may have forgotten. */
  findSettled: (accountId: string, digest: string) => Promise<CallId | null>
  logger: Logger
  /** How many records are kept. */
  records?: KeptBounds
}

/** Some hundred bytes each. */
const RECORDS: KeptBounds = { perAccount: 50_000, inAll: 500_000 }

/** An instance that dies between claim and admission blocks the key this long. A lapsed claim does no harm. */
const CLAIM_TTL_MS = 30_000

// Claims a record, or reads it.
// KEYS 1 record, 2 since when records are kept, 3 mark that some of the account's were dropped
// ARGV 1 fingerprint, 2 call id, 3 ms until an unconfirmed claim lapses, 4 ms for which records are kept
// Returns 'first' when claimed; 'unsure' when claimed but Redis may have forgotten that it was used before;
// else {fingerprint, call id, envelope or nil, ended or nil}
const CLAIM = `
local known = redis.call('HMGET', KEYS[1], 'fingerprint', 'call', 'envelope', 'ended')
if known[1] and known[2] ~= ARGV[2] then return known end
redis.call('HSET', KEYS[1], 'fingerprint', ARGV[1], 'call', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local since = redis.call('GET', KEYS[2])
if not since then
  since = string.format('%.0f', now)
  redis.call('SET', KEYS[2], since)
end
if now - since < tonumber(ARGV[4]) or redis.call('EXISTS', KEYS[3]) == 1 then return 'unsure' end
return 'first'`

// Writes a record unless another call has it.
// KEYS 1 record   ARGV 1 id of the call that claimed it, 2 fingerprint, 3 id of the call it stands for,
// 4 envelope, or '' where the call has ended and only its id is known, 5 lifetime ms, 6 account id, 7 records an
// account, 8 records in all, 9 prefix of the counts of records, 10 prefix of the marks of dropped records
// Returns nil when written, else {fingerprint, call id, envelope or nil, ended or nil}
const WRITE = `${BOUNDED_ENTRIES}
local record, lifetime = KEYS[1], tonumber(ARGV[5])
local known = redis.call('HMGET', record, 'fingerprint', 'call', 'envelope', 'ended')
if known[1] and known[2] ~= ARGV[1] then return known end
redis.call('HSET', record, 'fingerprint', ARGV[2], 'call', ARGV[3])
if ARGV[4] == '' then redis.call('HSET', record, 'ended', 1) else redis.call('HSET', record, 'envelope', ARGV[4]) end
redis.call('PEXPIRE', record, lifetime)
local _, dropped = count(ARGV[9], record, ARGV[6], 1, lifetime, tonumber(ARGV[7]), tonumber(ARGV[8]))
for _, account in ipairs(dropped) do redis.call('SET', ARGV[10] .. account, 1, 'PX', lifetime) end
return nil`

type Found = [fingerprint: string, callId: CallId, envelope: string | null, ended: string | null]

/** The Idempotency-Keys of accounts: which call each stands for. */
export type Idempotency = ReturnType<typeof createIdempotency>

export function createIdempotency(deps: IdempotencyDependencies) {
  const { redis, findSettled, logger, records = RECORDS } = deps
  const claim = defineScript(redis, 'syClaimIdempotency', CLAIM)
  const write = defineScript(redis, 'syWriteIdempotency', WRITE)

  const writeRecord = async (use: KeyUse, callId: CallId, envelope: string) => {
    const found = await write(
      [idempotencyKey(use.accountId, use.digest)],
      [
        use.callId,
        use.fingerprint,
        callId,
        envelope,
        IDEMPOTENCY_TTL_MS,
        use.accountId,
        records.perAccount,
        records.inAll,
        IDEMPOTENCY_RECORDS,
        IDEMPOTENCY_DROPPED,
      ],
    )
    return found === null ? null : readFound(found as Found, use)
  }

  /** Settlement charges a key once, so an unsure claim may run while PostgreSQL is away. */
  const settledBefore = (use: KeyUse): Promise<CallId | null> =>
    findSettled(use.accountId, use.digest).catch((error: unknown) => {
      logger.warn({ err: error, callId: use.callId }, 'idempotency key not looked up in postgresql')
      return null
    })

  return {
    /**
     * Claims a key for a call; null when it is claimed, else what it stands for. Sent twice, it is the same claim.
     * Throws `idempotency_conflict` for another body.
     */
    async claim(use: KeyUse) {
      const answer = await claim(
        [
          idempotencyKey(use.accountId, use.digest),
          IDEMPOTENCY_SINCE,
          `${IDEMPOTENCY_DROPPED}${use.accountId}`,
        ],
        [use.fingerprint, use.callId, CLAIM_TTL_MS, IDEMPOTENCY_TTL_MS],
      )
      if (answer === 'first') return null
      if (answer !== 'unsure') return readFound(answer as Found, use)
      const settled = await settledBefore(use)
      if (settled === null) return null
      await writeRecord(use, settled, '')
      return { callId: settled, envelope: null, hasEnded: true }
    },
    /**
     * The call is admitted: a repeat may wait for it from now on, and finds it for a day. Where the claim lapsed and
     * another call has the key by now, nothing changes and that is returned. Throws `idempotency_conflict` as `claim`.
     */
    confirm: (use: KeyUse, envelope: CallEnvelope) =>
      writeRecord(use, envelope.id, JSON.stringify(responseEnvelope(envelope))),
    /** What a key stands for now; null when it is free. */
    async find(accountId: string, digest: string) {
      const [callId, envelope, ended] = await redis.hmget(
        idempotencyKey(accountId, digest),
        'call',
        'envelope',
        'ended',
      )
      return callId ? readRecord(callId as CallId, envelope ?? null, ended ?? null) : null
    },
  }
}

/** A use of a key by a request that would run as `callId`. */
export const keyUse = (accountId: string, key: string, body: unknown, callId: CallId): KeyUse => ({
  accountId,
  digest: digest(key),
  fingerprint: digest(JSON.stringify(body)),
  callId,
})

const digest = (text: string): string => createHash('sha256').update(text).digest('base64url')

function readFound([fingerprint, callId, envelope, ended]: Found, use: KeyUse): IdempotencyRecord {
  if (fingerprint === use.fingerprint) return readRecord(callId, envelope, ended)
  throw new ApiError(
    'idempotency_conflict',
    'This Idempotency-Key was used with another body. Use a new key.',
    { shouldRetry: false },
  )
}

const readRecord = (callId: CallId, envelope: string | null, ended: string | null): IdempotencyRecord => ({
  callId,
  envelope: envelope === null ? null : (JSON.parse(envelope) as ResponseEnvelope),
  hasEnded: ended !== null,
})

/** What a repeat needs of an envelope. */
const responseEnvelope = (envelope: CallEnvelope): ResponseEnvelope => ({
  id: envelope.id,
  accountId: envelope.accountId,
  requestedModel: envelope.requestedModel,
  idempotencyRecord: envelope.idempotencyRecord,
  admittedAt: envelope.admittedAt,
  queueDeadlineAt: envelope.queueDeadlineAt,
  callDeadlineAt: envelope.callDeadlineAt,
  candidates: envelope.candidates.map(({ requestedModel }) => ({ requestedModel })),
  ...(envelope.affordedLimit !== undefined && { affordedLimit: envelope.affordedLimit }),
})

/** What a repeat hears of a call that ended and whose answer is kept no longer. */
export const answerNotKept = (callId: CallId): FrameError => ({
  code: 'idempotency_conflict',
  message: `This Idempotency-Key was used for call ${callId}, which has ended and was charged; its answer is no longer kept. Use a new key to ask again.`,
  shouldRetry: false,
})

/** The call of an account that an Idempotency-Key stands for. */
export interface KeyedCall {
  id: CallId
  accountId: string
  /** Digest of the key. */
  idempotencyRecord: string
}

/** A whole answer: the frames of the run that ended the call, from the first. */
interface KeptCompletion extends RunOfCall {
  frames: readonly FrameBody[]
}

/** Sizes in bytes as kept: sealed, in base64. */
interface CompletionArchiveLimits extends KeptBounds {
  perAnswer: number
}

// Ends a call of an Idempotency-Key.
// KEYS 1 record, 2 answer   ARGV 1 call id, 2 account id, 3 sealed answer or '', 4 lifetime ms,
// 5 bytes an account, 6 bytes in all, 7 prefix of the counts of answers, 8 of records
const END = `${BOUNDED_ENTRIES}
local id, account, sealed, lifetime = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
if redis.call('HGET', KEYS[1], 'call') == id then
  redis.call('HSET', KEYS[1], 'ended', 1)
  redis.call('PEXPIRE', KEYS[1], lifetime)
  redis.call('ZADD', ARGV[8] .. ':ends', 'XX', now + lifetime, KEYS[1])
  redis.call('ZADD', ARGV[8] .. ':ends:' .. account, 'XX', now + lifetime, KEYS[1])
end
if sealed ~= '' and count(ARGV[7], KEYS[2], account, #sealed, lifetime, tonumber(ARGV[5]), tonumber(ARGV[6])) then
  redis.call('SET', KEYS[2], sealed, 'PX', lifetime)
end`

// Deletes a record if it stands for a call that has not ended.
// KEYS 1 record   ARGV 1 call id, 2 prefix of the counts of records
const FORGET = `${BOUNDED_ENTRIES}
local call, ended = unpack(redis.call('HMGET', KEYS[1], 'call', 'ended'))
if call == ARGV[1] and not ended then
  uncount(ARGV[2], KEYS[1])
  redis.call('DEL', KEYS[1])
end`

const keyOfRecord = ({ accountId, idempotencyRecord }: KeyedCall): string =>
  idempotencyKey(accountId, idempotencyRecord)

// Deletes what is kept of a call, if the record still stands for it.
// KEYS 1 record, 2 answer   ARGV 1 call id, 2 prefix of the counts of records, 3 of answers
const DISCARD = `${BOUNDED_ENTRIES}
if redis.call('HGET', KEYS[1], 'call') == ARGV[1] then
  uncount(ARGV[2], KEYS[1])
  redis.call('DEL', KEYS[1])
end
uncount(ARGV[3], KEYS[2])
redis.call('DEL', KEYS[2])`

/**
 * Answers of calls that carried an Idempotency-Key, kept sealed for a day so that a repeat gets the same
 * one. The only text of a call that rests anywhere. Bounded: beyond a limit the oldest answers make room.
 */
export type CompletionArchive = ReturnType<typeof createCompletionArchive>

export function createCompletionArchive(redis: Redis, sealer: Sealer, limits: CompletionArchiveLimits) {
  const end = defineScript(redis, 'syEndIdempotency', END)
  const forget = defineScript(redis, 'syForgetIdempotency', FORGET)
  return {
    /**
     * Notes that a call has ended and its key stands for it, and keeps its answer. The answer is null where it
     * is too long to be kept whole; one that finds no room is not kept either.
     */
    async end(call: KeyedCall, answer: KeptCompletion | null) {
      const sealed = answer ? sealer.seal(JSON.stringify(answer), call.id) : ''
      const kept = sealed.length <= limits.perAnswer ? sealed : ''
      await end(
        [keyOfRecord(call), keptReplyKey(call.id)],
        [
          call.id,
          call.accountId,
          kept,
          IDEMPOTENCY_TTL_MS,
          limits.perAccount,
          limits.inAll,
          IDEMPOTENCY_ANSWERS,
          IDEMPOTENCY_RECORDS,
        ],
      )
    },
    async read(callId: CallId) {
      const sealed = await redis.get(keptReplyKey(callId))
      return sealed === null ? null : (JSON.parse(sealer.open(sealed, callId)) as KeptCompletion)
    },
    /**
     * Frees the key of a call that did not complete: a repeat runs anew. A key that stands for another call, or
     * for one that has ended with an answer, stays.
     */
    async forget(call: KeyedCall) {
      await forget([keyOfRecord(call)], [call.id, IDEMPOTENCY_RECORDS])
    },
  }
}

/**
 * Frees the Idempotency-Key of a call whose charge is credited, and drops the answer that is kept for it: a repeat runs anew,
 * and is charged.
 */
export function createAnswerDiscard(redis: Redis) {
  const discard = defineScript(redis, 'syDiscardIdempotency', DISCARD)
  return async (call: KeyedCall): Promise<void> => {
    const ids = [call.id, IDEMPOTENCY_RECORDS, IDEMPOTENCY_ANSWERS]
    await discard([keyOfRecord(call), keptReplyKey(call.id)], ids)
  }
}
