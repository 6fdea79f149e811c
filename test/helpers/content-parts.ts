import { type ContentPart, parseContentPart } from '../../src/core/calls/content-part.ts'

/** Content parts as clients send them, read as the gateway reads them. */
export const contentParts = (...parts: unknown[]): ContentPart[] =>
  parts.map((part, index) => parseContentPart(part, 'user', `content[${index}]`))

/** A PNG of which nothing but its header is there: enough to tell its size. */
export function pngUrl(width: number, height: number): string {
  const bytes = Buffer.alloc(45)
  bytes.writeUInt32BE(0x89504e47, 0)
  bytes.writeUInt32BE(0x0d0a1a0a, 4)
  bytes.writeUInt32BE(13, 8)
  bytes.write('IHDR', 12, 'latin1')
  bytes.writeUInt32BE(width, 16)
  bytes.writeUInt32BE(height, 20)
  return `data:image/png;base64,${bytes.toString('base64')}`
}
