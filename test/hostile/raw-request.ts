import { connect } from 'node:net'

/** A request as its bytes are sent, with none of what an HTTP client would refuse to send or add. */
export interface RawRequest {
  method: string
  /** What stands in the request line. */
  target: string
  /** `Name: value`, a line each. */
  headers: string[]
  /** Characters up to U+00FF stand for bytes. */
  body: string
}

export interface RawAnswer {
  status: number
  /** By lower-case name; of several the last. */
  headers: Record<string, string>
  /** Whole where it is an error; of other answers what came with the head. */
  body: string
  tookMs: number
}

const LIMIT_MS = 15_000

/** Sends a request on a connection of its own. Rejects when there is no answer, or none in time. */
export function exchange(url: string, { method, target, headers, body }: RawRequest): Promise<RawAnswer> {
  const startedAt = performance.now()
  const bytes = Buffer.from(
    `${method} ${target} HTTP/1.1\r\n${[...headers, `content-length: ${body.length}`, 'connection: close'].join('\r\n')}\r\n\r\n${body}`,
    'latin1',
  )
  return new Promise((resolve, reject) => {
    const socket = connect(Number(new URL(url).port), '127.0.0.1')
    let received = ''
    const timer = setTimeout(() => {
      socket.destroy()
      reject(new Error(`no answer within ${LIMIT_MS} ms, but: ${received}`))
    }, LIMIT_MS)
    const finish = (isOver: boolean) => {
      const answer = parse(received, method, isOver)
      if (answer === null) return
      clearTimeout(timer)
      socket.destroy()
      resolve({ ...answer, tookMs: performance.now() - startedAt })
    }
    socket.on('data', (data) => {
      received += data.toString('latin1')
      finish(false)
    })
    // A server that refuses a long request may close while bytes are still on their way.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => {
      finish(true)
      clearTimeout(timer)
      reject(new Error(`the connection was closed after: ${received}`))
    })
    socket.write(bytes)
  })
}

/** Null while there is more to come of the head, or of the body of an error. */
function parse(text: string, method: string, isOver: boolean): Omit<RawAnswer, 'tookMs'> | null {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return null
  const [first = '', ...lines] = text.slice(0, end).split('\r\n')
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(first)?.[1] ?? 0)
  // Told to go on with the body, which was sent anyway.
  if (status === 100) return parse(text.slice(end + 4), method, isOver)
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(':')).toLowerCase(),
      line.slice(line.indexOf(':') + 1).trim(),
    ]),
  )
  const body = text.slice(end + 4)
  const length = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY)
  const isWhole = status < 400 || method === 'HEAD' || body.length >= length || isOver
  return isWhole ? { status, headers, body: Buffer.from(body, 'latin1').toString() } : null
}
