import type { ServerResponse } from 'node:http'
import type { ListedCalls } from '../billing/call-records/call-list.ts'
import { ApiError } from '../core/kernel/errors.ts'
import { createSharedRoom } from '../core/kernel/shared-room.ts'
import type { ReadPage } from './account-api/report-format.ts'
import { whenResponseCloses } from './calls/event-stream.ts'

export interface SlotsOptions {
  max: number
  /** The message when all slots are taken: 503. */
  allTaken: string
  /** Maximum for one account. */
  maxPerHolder?: number
  /** The message for an owner that has reached its maximum: 429. */
  holderIsFull?: string
}

/** Limits concurrent work of one kind, in total and per owner. */
export type Slots = ReturnType<typeof createSlots>

/** The last of many slots are for owners that have none. */
const SHARE = 8

/** Creates the slots of one instance. */
export function createSlots({
  max,
  allTaken,
  maxPerHolder = Number.POSITIVE_INFINITY,
  holderIsFull = allTaken,
}: SlotsOptions) {
  const room = createSharedRoom({ max, few: 1 })
  const taken = new Map<string, number>()
  const take = (holder: string) => {
    const own = taken.get(holder) ?? 0
    const retry = { retryAfterSeconds: 1 }
    if (own >= maxPerHolder) throw new ApiError('concurrency_limit_exceeded', holderIsFull, retry)
    if (!room.fits(holder, 1, SHARE)) throw new ApiError('overloaded', allTaken, retry)
    taken.set(holder, own + 1)
    room.add(holder, 1)
    let isGivenBack = false
    return () => {
      if (isGivenBack) return
      isGivenBack = true
      room.add(holder, -1)
      const left = taken.get(holder)! - 1
      if (left === 0) taken.delete(holder)
      else taken.set(holder, left)
    }
  }
  return {
    /** Takes a slot; the returned function releases it. Throws 429 or 503 if none is free. */
    take,
    /** Runs work in a slot. Throws like `take`. */
    async run<T>(holder: string, work: () => Promise<T>) {
      const giveBack = take(holder)
      try {
        return await work()
      } finally {
        giveBack()
      }
    },
  }
}

const REPORTS_MAX = 8
const REPORTS_PER_ACCOUNT_MAX = 2

/** Slots for one kind of report, by account. */
export const reportSlots = (max = REPORTS_MAX, maxPerHolder = REPORTS_PER_ACCOUNT_MAX): Slots =>
  createSlots({
    max,
    maxPerHolder,
    holderIsFull: 'This account has reports running. Wait for one to end.',
    allTaken: 'This gateway runs as many reports as it can. Retry shortly.',
  })

/** Lookups may wait for a settlement, so they are limited; each only reads by primary key. */
const LOOKUPS_MAX = 500
const LOOKUPS_PER_ACCOUNT_MAX = 100

/** Slots for lookups of single calls. */
export const lookupSlots = (): Slots =>
  createSlots({
    max: LOOKUPS_MAX,
    maxPerHolder: LOOKUPS_PER_ACCOUNT_MAX,
    holderIsFull: 'This account has look-ups running. Wait for one to end.',
    allTaken: 'This gateway runs as many look-ups as it can. Retry shortly.',
  })

const NO_PAGE: ListedCalls = { calls: [], previous: null, next: null, searchedToMs: null }

/**
 * Holds a slot for a report until its response is over and no page is being read: a query continues without its client,
 * so clients that leave at once could otherwise have more running than there are slots. Returns a reader of pages,
 * which reads none after the response is over.
 */
export function holdReportSlot(response: ServerResponse, giveBack: () => void, readPage: ReadPage): ReadPage {
  let reading = 0
  let isOver = false
  const ended = () => {
    if (isOver && reading === 0) giveBack()
  }
  whenResponseCloses(response, () => {
    isOver = true
    ended()
  })
  return async (position, limit) => {
    if (isOver) return NO_PAGE
    reading += 1
    try {
      return await readPage(position, limit)
    } finally {
      reading -= 1
      ended()
    }
  }
}
