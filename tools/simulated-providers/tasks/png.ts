import { crc32, deflateSync } from 'node:zlib'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const COLORS = 8
const BITS = 8
const PALETTE_TYPE = 3

/** A PNG of waves whose colours, widths and angle follow from the seed. Source: https://www.w3.org/TR/png-3/ */
export function encodePng(width: number, height: number, seed: number): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = BITS
  header[9] = PALETTE_TYPE
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', palette(seed)),
    chunk('IDAT', deflateSync(pixels(width, height, seed), { level: 1 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** Length, type, data, and the CRC of the type and the data. */
function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(data.length, 0)
  frame.writeUInt32BE(crc32(body), 4)
  return Buffer.concat([frame.subarray(0, 4), body, frame.subarray(4)])
}

const palette = (seed: number): Buffer =>
  Buffer.from(Array.from({ length: COLORS * 3 }, (_, at) => ((seed >>> (at % 24)) * 37 + at * 29) & 0xff))

/** Rows of palette indices, each after the number of its filter (none). */
function pixels(width: number, height: number, seed: number): Buffer {
  const rows = Buffer.alloc(height * (width + 1))
  const period = 16 + (seed % 48)
  const slope = 1 + (seed % 3)
  for (let y = 0; y < height; y++) {
    const start = y * (width + 1) + 1
    for (let x = 0; x < width; x++) rows[start + x] = (((x + y * slope) / period) | 0) % COLORS
  }
  return rows
}
