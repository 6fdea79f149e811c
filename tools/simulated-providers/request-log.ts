import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders } from 'node:http'
import type { Ending } from './play-response.ts'

/** One request a simulated provider has seen. */
export interface RecordedRequest {
  /** The path prefix: `alpha`, `beta`, … */
  provider: string
  path: string
  model: string | null
  headers: IncomingHttpHeaders
  body: unknown
  /** The body as it came. */
  text: string
  receivedAt: number
  state: 'open' | Ending
}

type Predicate = (request: RecordedRequest) => boolean

const DEFAULT_WAIT_MS = 60_000

/** Keeps the newest requests and lets a test await what it expects of them. */
export function createRequestLog(limit: number) {
  const events = new EventEmitter().setMaxListeners(0)
  const requests: RecordedRequest[] = []
  let received = 0
  let aborted = 0

  const until = (matches: Predicate, timeoutMs: number, what: string): Promise<RecordedRequest> => {
    const already = requests.find(matches)
    if (already) return Promise.resolve(already)
    return new Promise((resolve, reject) => {
      const listener = (request: RecordedRequest) => {
        if (!matches(request)) return
        events.off('change', listener)
        clearTimeout(timer)
        resolve(request)
      }
      const timer = setTimeout(() => {
        events.off('change', listener)
        reject(new Error(`no request ${what} at the simulated providers within ${timeoutMs} ms`))
      }, timeoutMs)
      events.on('change', listener)
    })
  }

  return {
    /** The newest requests, oldest first, at most `limit`. */
    requests,
    /** Requests seen since the start or the last clear. */
    get received() {
      return received
    },
    /** Requests whose client disconnected before the response was complete. */
    get aborted() {
      return aborted
    },
    add(request: RecordedRequest): void {
      received++
      if (limit > 0) requests.push(request)
      if (requests.length > limit) requests.shift()
      events.emit('change', request)
    },
    settle(request: RecordedRequest, ending: Ending): void {
      request.state = ending
      if (ending === 'aborted') aborted++
      events.emit('change', request)
    },
    /** Resolves with the first matching request, recorded already or still to come. Rejects after `timeoutMs`. */
    arrived: (
      matches: Predicate = () => true,
      timeoutMs: number = DEFAULT_WAIT_MS,
    ): Promise<RecordedRequest> => until(matches, timeoutMs, 'arrived'),
    /** The same for a request whose client disconnected. */
    abortedBy: (
      matches: Predicate = () => true,
      timeoutMs: number = DEFAULT_WAIT_MS,
    ): Promise<RecordedRequest> =>
      until((request) => request.state === 'aborted' && matches(request), timeoutMs, 'was aborted'),
    clear(): void {
      requests.length = 0
      received = 0
      aborted = 0
    },
  }
}
