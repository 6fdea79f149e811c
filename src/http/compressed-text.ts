import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** Content encodings of a response body. */
type BodyEncoding = 'br' | 'gzip' | 'identity'

/** A text in each encoding, compressed on first use and cached. */
export type CompressedText = (encoding: BodyEncoding) => Promise<Buffer>

/** Much cheaper than the highest, for a few percent more bytes. */
const BROTLI_QUALITY = 6

export function compressedText(text: string): CompressedText {
  const plain = Buffer.from(text)
  const kept = new Map<BodyEncoding, Promise<Buffer>>()
  return (encoding) => {
    const known = kept.get(encoding) ?? encode(plain, encoding)
    kept.set(encoding, known)
    return known
  }
}

/** The best encoding that a client accepts (RFC 9110 12.5.3). */
export function acceptedEncoding(header: string | undefined): BodyEncoding {
  const accepted = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((part) => part.replaceAll(' ', '').split(';q='))
    .filter(([, weight]) => weight === undefined || Number(weight) > 0)
    .map(([name]) => name)
  return (['br', 'gzip'] as const).find((encoding) => accepted.includes(encoding)) ?? 'identity'
}

async function encode(plain: Buffer, encoding: BodyEncoding): Promise<Buffer> {
  switch (encoding) {
    case 'identity':
      return plain
    case 'gzip':
      return promisify(gzip)(plain)
    case 'br':
      return promisify(brotliCompress)(plain, {
        params: {
          [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY,
          [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
        },
      })
  }
}
