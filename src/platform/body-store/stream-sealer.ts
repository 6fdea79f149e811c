import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { derivationInfo, type MasterKeys, masterKeyId } from '../sealing.ts'

const KEY_ID_BYTES = 8
const SALT_BYTES = 16
const HEAD_BYTES = KEY_ID_BYTES + SALT_BYTES
const CHUNK_BYTES = 64 * 1024
const TAG_BYTES = 16
const NONCE_BYTES = 12

/**
 * Seals streams with AES-256-GCM, chunk by chunk, in constant memory. Each stream has its own key, derived from a
 * master key and a random salt. The nonce of a chunk contains its index and whether it is the last, so a stream with
 * altered, reordered, repeated, dropped or missing chunks fails to open. A stream sealed for one purpose or context
 * does not open for another. Source: the STREAM construction, Hoang et al. 2015, as in https://age-encryption.org/v1
 * (section "Payload").
 */
export interface StreamSealer {
  /**
   * Yields the id of the master key and the salt, then the chunks, each with its tag. `context`: the id of the sealed
   * object.
   */
  seal(plain: AsyncIterable<Uint8Array>, context: string): AsyncGenerator<Buffer, void>
  /** Yields each chunk once it is verified. Throws when the stream is not the one that was sealed. */
  open(sealed: AsyncIterable<Uint8Array>, context: string): AsyncGenerator<Buffer, void>
}

/** Creates a sealer for one purpose. It seals with the first master key and opens with any of them. */
export function createStreamSealer(masterKeys: MasterKeys, purpose: string): StreamSealer {
  const ids = masterKeys.map((key) => Buffer.from(masterKeyId(key)))
  const keyOf = (index: number, salt: Uint8Array) =>
    Buffer.from(hkdfSync('sha256', masterKeys[index]!, salt, derivationInfo(purpose), 32))
  return {
    async *seal(plain, context) {
      const salt = randomBytes(SALT_BYTES)
      const key = keyOf(0, salt)
      const aad = Buffer.from(context)
      yield Buffer.concat([ids[0]!, salt])
      let index = 0
      for await (const { bytes, isLast } of regroup(plain, CHUNK_BYTES)) {
        const cipher = createCipheriv('aes-256-gcm', key, nonceOf(index++, isLast)).setAAD(aad)
        yield Buffer.concat([cipher.update(bytes), cipher.final(), cipher.getAuthTag()])
      }
    },

    async *open(sealed, context) {
      const aad = Buffer.from(context)
      let key: Buffer | undefined
      let index = 0
      for await (const { bytes, isLast } of regroup(sealed, CHUNK_BYTES + TAG_BYTES, HEAD_BYTES)) {
        if (!key) {
          if (isLast) throw new Error('sealed stream is too short')
          const id = bytes.subarray(0, KEY_ID_BYTES)
          const found = ids.findIndex((known) => known.equals(id))
          if (found < 0) throw new Error('sealed under a master key that is not configured')
          key = keyOf(found, bytes.subarray(KEY_ID_BYTES))
          continue
        }
        if (bytes.length < TAG_BYTES) throw new Error('sealed stream is too short')
        const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(index++, isLast))
          .setAAD(aad)
          .setAuthTag(bytes.subarray(-TAG_BYTES))
        yield Buffer.concat([decipher.update(bytes.subarray(0, -TAG_BYTES)), decipher.final()])
      }
    },
  }
}

/** Eleven bytes: the index, of which six bytes are used, and one that marks the last chunk. */
function nonceOf(index: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(NONCE_BYTES)
  nonce.writeUIntBE(index, NONCE_BYTES - 7, 6)
  nonce[NONCE_BYTES - 1] = isLast ? 1 : 0
  return nonce
}

/**
 * Splits bytes into pieces of exactly `size`, the first of `firstSize`. The last piece may be shorter; it is empty only
 * if it is the first.
 */
async function* regroup(
  source: AsyncIterable<Uint8Array>,
  size: number,
  firstSize = size,
): AsyncGenerator<{ bytes: Buffer; isLast: boolean }, void> {
  let next = firstSize
  let held: Uint8Array[] = []
  let length = 0
  for await (const chunk of source) {
    held.push(chunk)
    length += chunk.length
    // Buffers more than one piece, since only the following bytes show whether a piece is the last.
    if (length <= next) continue
    let bytes = Buffer.concat(held)
    while (bytes.length > next) {
      yield { bytes: bytes.subarray(0, next), isLast: false }
      bytes = bytes.subarray(next)
      next = size
    }
    held = [bytes]
    length = bytes.length
  }
  yield { bytes: Buffer.concat(held), isLast: true }
}
