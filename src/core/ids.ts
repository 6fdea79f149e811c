import { monotonicFactory } from 'ulid'

/** One id for the completion, its queue job, its hold, its ledger transaction and its log lines. */
export type CallId = `chatcmpl_${string}`

const nextUlid = monotonicFactory()

/** A new call id; ids made by one process sort by creation time. BullMQ allows no `:` in job ids; ULIDs have none. */
export const newCallId = (): CallId => `chatcmpl_${nextUlid()}`

export type IdPrefix = 'acct' | 'key' | 'evt' | 'pay' | 'hook' | 'api' | 'settle'

/** A new id of another kind of thing: `acct_…`, `key_…`. */
export const newId = (prefix: IdPrefix): string => `${prefix}_${nextUlid()}`
