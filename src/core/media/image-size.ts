import { bytesAt } from './data-url.ts'

/** Pixels. */
export interface ImageSize {
  width: number
  height: number
}

const HEAD_BYTES = 32
const SEGMENTS_MAX = 500
const BLOCKS_MAX = 500

/**
 * The size of an image, read from the header of PNG, JPEG, GIF or WebP inside its base64. Null for
 * another format or a broken header. Decodes only a few bytes, however large the image is.
 */
export function imageSize(base64: string): ImageSize | null {
  const head = bytesAt(base64, 0, HEAD_BYTES)
  if (head.length < HEAD_BYTES) return null
  const size = sizeOf(base64, head)
  return size && size.width > 0 && size.height > 0 ? size : null
}

function sizeOf(base64: string, head: Buffer): ImageSize | null {
  if (head.readUInt32BE(0) === 0x89504e47 && head.toString('latin1', 12, 16) === 'IHDR') {
    return { width: head.readUInt32BE(16), height: head.readUInt32BE(20) }
  }
  if (head.readUInt16BE(0) === 0xffd8) return jpegSize(base64)
  if (head.toString('latin1', 0, 4) === 'GIF8') return gifSize(base64, head)
  return head.toString('latin1', 0, 4) === 'RIFF' && head.toString('latin1', 8, 12) === 'WEBP'
    ? webpSize(head)
    : null
}

/** Frame headers: SOF0 to SOF15 without DHT, JPG and DAC. */
const isFrameHeader = (marker: number): boolean =>
  marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc

/** Walks the segments to the frame header; embedded thumbnails are inside segments, and are skipped with them. */
function jpegSize(base64: string): ImageSize | null {
  let offset = 2
  for (let segment = 0; segment < SEGMENTS_MAX; segment++) {
    const bytes = bytesAt(base64, offset, 9)
    if (bytes.length < 9 || bytes[0] !== 0xff) return null
    const marker = bytes[1]!
    if (marker === 0xff) {
      offset += 1
      continue
    }
    if (isFrameHeader(marker)) return { height: bytes.readUInt16BE(5), width: bytes.readUInt16BE(7) }
    offset += 2 + bytes.readUInt16BE(2)
  }
  return null
}

/** The larger of the screen and the first frame, because decoders enlarge the screen to the frame. */
function gifSize(base64: string, head: Buffer): ImageSize | null {
  const colors = (flags: number) => ((flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1))
  let offset = 13 + colors(head[10]!)
  for (let block = 0; block < BLOCKS_MAX; block++) {
    const bytes = bytesAt(base64, offset, 10)
    if (bytes[0] === 0x2c && bytes.length === 10) {
      return {
        width: Math.max(head.readUInt16LE(6), bytes.readUInt16LE(1) + bytes.readUInt16LE(5)),
        height: Math.max(head.readUInt16LE(8), bytes.readUInt16LE(3) + bytes.readUInt16LE(7)),
      }
    }
    if (bytes[0] !== 0x21 || bytes.length < 3) return null
    // An extension: its label, then length-prefixed blocks, ended by an empty one.
    offset += 2
    for (let length = -1; length !== 0 && block < BLOCKS_MAX; block++) {
      length = bytesAt(base64, offset, 1)[0] ?? 0
      offset += 1 + length
    }
  }
  return null
}

function webpSize(head: Buffer): ImageSize | null {
  switch (head.toString('latin1', 12, 16)) {
    case 'VP8 ':
      return { width: head.readUInt16LE(26) & 0x3fff, height: head.readUInt16LE(28) & 0x3fff }
    case 'VP8L': {
      const bits = head.readUInt32LE(21)
      return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 }
    }
    case 'VP8X':
      return { width: head.readUIntLE(24, 3) + 1, height: head.readUIntLE(27, 3) + 1 }
    default:
      return null
  }
}
