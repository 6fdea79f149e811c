import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { beforeEach, describe, expect, test } from 'vitest'
import type { ListedCalls } from '../../src/billing/call-records/call-list.ts'
import { holdReportSlot } from '../../src/http/slots.ts'

const NO_PAGE: ListedCalls = { calls: [], previous: null, next: null, searchedToMs: null }

describe('the slot of a report', () => {
  let response: EventEmitter & { closed: boolean; destroyed: boolean }
  let given: number
  let reads: Array<PromiseWithResolvers<ListedCalls>>

  beforeEach(() => {
    response = Object.assign(new EventEmitter(), { closed: false, destroyed: false })
    given = 0
    reads = []
  })
  const open = () =>
    holdReportSlot(
      response as unknown as ServerResponse,
      () => given++,
      () => {
        const read = Promise.withResolvers<ListedCalls>()
        reads.push(read)
        return read.promise
      },
    )

  test('comes back when the response is over, not between two pages', async () => {
    const readPage = open()
    const page = readPage(null, 10)
    reads[0]!.resolve(NO_PAGE)
    await page
    expect(given).toBe(0)
    response.emit('close')
    expect(given).toBe(1)
  })

  test('is held while a query runs on whose client has left, and no other is begun', async () => {
    const readPage = open()
    const page = readPage(null, 10)
    response.emit('close')
    expect(given).toBe(0)
    reads[0]!.reject(new Error('cancelled'))
    await expect(page).rejects.toThrow('cancelled')
    expect(given).toBe(1)
    expect(await readPage(null, 10)).toEqual(NO_PAGE)
    expect(reads).toHaveLength(1)
  })

  test('comes back at once where the client had left before', async () => {
    response.destroyed = true
    const readPage = open()
    expect(given).toBe(1)
    expect(await readPage(null, 10)).toEqual(NO_PAGE)
    expect(reads).toHaveLength(0)
  })
})
