import { crc32 } from 'node:zlib'

const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
const TEXT = 7

/**
 * A message in AWS's framing (`application/vnd.amazon.eventstream`), as text of one character a byte. Written from the
 * description of the encoding in the Amazon Transcribe guide, without the code that reads it.
 */
export function framed(headers: Readonly<Record<string, string>>, payload: string): string {
  const head = Buffer.concat(
    Object.entries(headers).flatMap(([name, value]) => {
      const length = Buffer.alloc(2)
      length.writeUInt16BE(Buffer.byteLength(value))
      return [Buffer.from([name.length]), Buffer.from(name), Buffer.from([TEXT]), length, Buffer.from(value)]
    }),
  )
  const body = Buffer.from(payload)
  const message = Buffer.alloc(PRELUDE_BYTES + head.length + body.length + CHECKSUM_BYTES)
  message.writeUInt32BE(message.length, 0)
  message.writeUInt32BE(head.length, 4)
  message.writeUInt32BE(crc32(message.subarray(0, 8)), 8)
  head.copy(message, PRELUDE_BYTES)
  body.copy(message, PRELUDE_BYTES + head.length)
  const end = message.length - CHECKSUM_BYTES
  message.writeUInt32BE(crc32(message.subarray(0, end)), end)
  return message.toString('latin1')
}

/** An event of a type with its data. */
export const framedEvent = (type: string, data: unknown): string =>
  framed(
    { ':event-type': type, ':content-type': 'application/json', ':message-type': 'event' },
    JSON.stringify(data),
  )

/** An exception, which ends a stream. */
export const framedException = (type: string, message: string): string =>
  framed(
    { ':exception-type': type, ':content-type': 'application/json', ':message-type': 'exception' },
    JSON.stringify({ message }),
  )
