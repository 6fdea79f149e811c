import { bytesAt, decodedLength } from './data-url.ts'

/** Duration of a recording, in seconds. */
export interface AudioLength {
  /** Upper bound. */
  most: number
  /** Estimate at a typical bitrate. */
  likely: number
}

/** Bytes per second: the lowest bitrate of MPEG audio is 8 kbit/s, other codecs need almost none for silence. */
const LEAST_BYTES_PER_SECOND = { mpeg: 1_000, adts: 50, other: 2 }
/** 64 kbit/s. */
const USUAL_BYTES_PER_SECOND = 8_000
const RIFF_HEAD_BYTES = 200
const PCM_FORMATS = new Set([1, 3])
const ID3_HEAD_BYTES = 10

/**
 * Duration of an audio file, based on its content and not on its declared type. The header of uncompressed audio
 * contains it exactly; for other formats only the minimum size of a second is known.
 */
export const audioLength = (base64: string): AudioLength =>
  lengthOf(decodedLength(base64), (offset, length) => bytesAt(base64, offset, length))

/** The same for a file of this size, of which the first bytes are given. */
export const audioFileLength = (head: Buffer, bytes: number): AudioLength =>
  lengthOf(bytes, (offset, length) => head.subarray(offset, offset + length))

/** Some bytes of a file; fewer if it ends earlier. */
type ReadBytes = (offset: number, length: number) => Buffer

function lengthOf(bytes: number, read: ReadBytes): AudioLength {
  const pcmRate = wavBytesPerSecond(read(0, RIFF_HEAD_BYTES))
  if (pcmRate !== null) return { most: Math.ceil(bytes / pcmRate), likely: Math.ceil(bytes / pcmRate) }
  const least = LEAST_BYTES_PER_SECOND[frameKind(read)]
  return { most: Math.ceil(bytes / least), likely: Math.ceil(bytes / USUAL_BYTES_PER_SECOND) }
}

/** For uncompressed samples; null if the file is not WAV or its samples are compressed. */
function wavBytesPerSecond(head: Buffer): number | null {
  if (head.length < 44 || head.toString('latin1', 0, 4) !== 'RIFF') return null
  if (head.toString('latin1', 8, 12) !== 'WAVE') return null
  let offset = 12
  while (offset + 24 <= head.length) {
    if (head.toString('latin1', offset, offset + 4) === 'fmt ') {
      const channels = head.readUInt16LE(offset + 10)
      const samplesPerSecond = head.readUInt32LE(offset + 12)
      const bytesPerSample = head.readUInt16LE(offset + 22) / 8
      const isPcm = PCM_FORMATS.has(head.readUInt16LE(offset + 8))
      const rate = channels * samplesPerSecond * bytesPerSample
      return isPcm && bytesPerSample >= 1 && rate > 0 ? rate : null
    }
    offset += 8 + head.readUInt32LE(offset + 4)
  }
  return null
}

/** Detected by the first frame, after an optional tag. */
function frameKind(read: ReadBytes): keyof typeof LEAST_BYTES_PER_SECOND {
  const head = read(0, ID3_HEAD_BYTES)
  const hasTag = head.length === ID3_HEAD_BYTES && head.toString('latin1', 0, 3) === 'ID3'
  // The length of a tag has seven bits in each of its four bytes.
  const tagBytes = hasTag
    ? ID3_HEAD_BYTES + (head[6]! << 21) + (head[7]! << 14) + (head[8]! << 7) + head[9]!
    : 0
  const [sync = 0, flags = 0, rates = 0] = read(tagBytes, 3)
  if (sync !== 0xff || (flags & 0xe0) !== 0xe0) return 'other'
  // Layer 0 is ADTS; a bitrate index of 0 is MPEG audio of any bitrate.
  if ((flags & 0x06) === 0) return 'adts'
  return rates >> 4 === 0 || rates >> 4 === 15 ? 'other' : 'mpeg'
}
