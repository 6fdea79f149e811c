import { once } from 'node:events'
import { request } from 'node:http'

/** Who calls, and where. */
export interface Caller {
  url: string
  key: string
}

/** One server-sent event; comments have no data and are left out. */
export interface ReceivedEvent {
  /** Null where the surface does not name its events. */
  name: string | null
  data: string
}

/** A response that is read as it comes. */
export interface OpenEvents {
  status: number
  readonly events: ReceivedEvent[]
  /** Resolves once this holds; rejects when the stream ends before. It is asked after each piece. */
  until(isSo: () => boolean): Promise<void>
  /** Resolves when the connection is closed, however it ended, with what came and is no event. */
  end: Promise<string>
  hangUp(): void
}

/**
 * Sends a call and reads the events of its answer; resolves once its status is known. A connection that breaks is an
 * ended stream, not an error.
 */
export async function openEvents(
  { url, key }: Caller,
  path: string,
  body: Record<string, unknown>,
  onEvent: (event: ReceivedEvent) => void = () => undefined,
): Promise<OpenEvents> {
  const outgoing = request(url + path, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
  })
  outgoing.end(JSON.stringify(body))
  const [response] = await once(outgoing, 'response')
  // A connection cut after the answer began shows as the end of the stream.
  outgoing.on('error', () => undefined)
  const events: ReceivedEvent[] = []
  const waiting = new Set<() => void>()
  let closed = false
  let unread = ''
  const look = () => {
    for (const one of waiting) one()
  }
  response.setEncoding('utf8')
  response.on('data', (data: string) => {
    const blocks = (unread + data).split('\n\n')
    unread = blocks.pop()!
    for (const block of blocks) {
      const event = eventOf(block)
      if (!event) continue
      events.push(event)
      onEvent(event)
    }
    look()
  })
  response.on('error', () => undefined)
  const closing = new Promise((resolve) => response.on('close', resolve))
  const end = closing.then(() => {
    closed = true
    look()
    return unread
  })
  return {
    status: response.statusCode,
    events,
    end,
    until: (isSo) =>
      new Promise((resolve, reject) => {
        const one = () => {
          const holds = isSo()
          if (!holds && !closed) return
          waiting.delete(one)
          if (holds) resolve()
          else reject(new Error(`the stream ended after ${events.length} events`))
        }
        waiting.add(one)
        one()
      }),
    hangUp: () => outgoing.destroy(),
  }
}

function eventOf(block: string): ReceivedEvent | null {
  const lines = block.split('\n')
  const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2)
  const data = field('data')
  return data === undefined ? null : { name: field('event') ?? null, data }
}
