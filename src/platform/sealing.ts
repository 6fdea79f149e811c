import { createCipheriv, createDecipheriv, createSecretKey, hkdfSync, randomFillSync } from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Seals text with AES-256-GCM. What is sealed for one purpose does not open for another. */
export interface Sealer {
  /** Base64 of nonce ‖ ciphertext ‖ tag, bound to `context` (the id of what it belongs to). */
  seal(text: string, context: string): string
  /** Throws when the box was altered, belongs to another context, or was sealed under another key. */
  open(box: string, context: string): string
}

/** A sealer for one purpose under the master key. */
export function createSealer(masterKey: Buffer, purpose: string): Sealer {
  const key = createSecretKey(deriveKey(masterKey, purpose))
  return {
    seal(text, context) {
      const nonce = nextNonce()
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
      return Buffer.concat([
        nonce,
        cipher.update(text, 'utf8'),
        cipher.final(),
        cipher.getAuthTag(),
      ]).toString('base64')
    },
    open(box, context) {
      const bytes = Buffer.from(box, 'base64')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error('sealed text is too short')
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
        .setAAD(Buffer.from(context))
        .setAuthTag(bytes.subarray(-TAG_BYTES))
      return Buffer.concat([
        decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)),
        decipher.final(),
      ]).toString('utf8')
    },
  }
}

const NONCES_AT_ONCE = 256
const nonces = Buffer.allocUnsafe(NONCE_BYTES * NONCES_AT_ONCE)
let noncesUsed = NONCES_AT_ONCE

/** A random nonce. Many are drawn at once, since a draw costs more than a sealing; each is used once. */
function nextNonce(): Buffer {
  if (noncesUsed === NONCES_AT_ONCE) {
    randomFillSync(nonces)
    noncesUsed = 0
  }
  const start = noncesUsed++ * NONCE_BYTES
  return Buffer.from(nonces.subarray(start, start + NONCE_BYTES))
}

/** A 32-byte key for one purpose, derived from the master key (HKDF-SHA-256, RFC 5869). */
export function deriveKey(masterKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `switchyard/${purpose}`, 32))
}
