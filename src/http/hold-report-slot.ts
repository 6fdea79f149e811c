import type { ServerResponse } from 'node:http'
import type { ReadPage } from './calls-csv.ts'
import { whenResponseCloses } from './event-stream.ts'

/**
 * Holds a slot for a report until its response is over and no page is being read for it: a query runs on without its
 * client, so clients that leave at once could otherwise have more of them running than there are slots. Reads pages
 * for the report; once its response is over, none.
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
  return async (after, limit) => {
    if (isOver) return []
    reading += 1
    try {
      return await readPage(after, limit)
    } finally {
      reading -= 1
      ended()
    }
  }
}
