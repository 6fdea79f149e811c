import { EventStreamCodec } from '@smithy/eventstream-codec'
import type { OpenDecoder } from '../wire.ts'

/** Bytes of the length, which begins a message. */
const LENGTH_BYTES = 4
/** A message without headers and payload: the prelude and two checksums. */
const MESSAGE_MIN_BYTES = 16

const codec = new EventStreamCodec(
  (bytes) => Buffer.from(bytes as Uint8Array).toString('utf8'),
  (text) => Buffer.from(text),
)

/**
 * Splits a stream in AWS's framing into the data of its events, as JSON: of InvokeModel the event in `bytes`, else the
 * payload under its type, as `{"contentBlockDelta":…}`. An exception in the stream is an error object. A message whose
 * checksums are wrong ends the stream, as one does that is too large.
 */
export const openEventStream: OpenDecoder = (onEvent, maxEventBytes) => {
  let pieces: Buffer[] = []
  let bytes = 0
  let wanted = LENGTH_BYTES
  const readNext = (): boolean => {
    const all = pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces)
    let at = 0
    while (all.length - at >= LENGTH_BYTES) {
      const length = all.readUInt32BE(at)
      if (length < MESSAGE_MIN_BYTES || length > maxEventBytes) return false
      if (all.length - at < length) break
      const data = dataOf(all.subarray(at, at + length))
      if (data === null) return false
      at += length
      onEvent(data)
    }
    const rest = all.subarray(at)
    pieces = rest.length > 0 ? [rest] : []
    bytes = rest.length
    wanted = bytes >= LENGTH_BYTES ? rest.readUInt32BE(0) : LENGTH_BYTES
    return true
  }
  return {
    push(chunk) {
      pieces.push(chunk)
      bytes += chunk.length
      return bytes < wanted || readNext()
    },
    // A message that is cut off says nothing.
    end: () => undefined,
  }
}

/** The data of one message; null if it is damaged. */
function dataOf(message: Buffer): string | null {
  let decoded: ReturnType<EventStreamCodec['decode']>
  try {
    decoded = codec.decode(message)
  } catch {
    // A checksum or a header; its reader gives the stream up.
    return null
  }
  const header = (name: string) => String(decoded.headers[name]?.value ?? '')
  const payload = Buffer.from(decoded.body).toString('utf8')
  switch (header(':message-type')) {
    case 'exception':
      return exceptionOf(header(':exception-type'), payload)
    case 'error':
      return exceptionOf(header(':error-code'), JSON.stringify({ message: header(':error-message') }))
    default:
      return header(':event-type') === 'chunk'
        ? chunkOf(payload)
        : `{${JSON.stringify(header(':event-type'))}:${payload || '{}'}}`
  }
}

function exceptionOf(type: string, payload: string): string {
  const said = parsed(payload) as { message?: unknown } | null
  const message = typeof said?.message === 'string' ? said.message : ''
  return JSON.stringify({ type: 'error', error: { type, message } })
}

function chunkOf(payload: string): string {
  const said = parsed(payload) as { bytes?: unknown } | null
  return typeof said?.bytes === 'string' ? Buffer.from(said.bytes, 'base64').toString('utf8') : payload
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    // Read as an event without content, or an error without words.
    return null
  }
}
