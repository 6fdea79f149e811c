import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomFillSync,
} from 'node:crypto'

const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID_BYTES = 6

/**
 * Master keys, 32 bytes each. Everything is sealed and hashed under the first; what was sealed or hashed under
 * another still opens, so that the master key can be changed without losing anything.
 */
export type MasterKeys = readonly [current: Buffer, ...others: Buffer[]]

/** Seals text with AES-256-GCM. What is sealed for one purpose does not open for another. */
export interface Sealer {
  /** `<master key's id>.<base64 of nonce ‖ ciphertext ‖ tag>`, bound to `context` (the id of what it belongs to). */
  seal(text: string, context: string): string
  /** Throws when the box was altered, belongs to another context, or was sealed under a master key not given. */
  open(box: string, context: string): string
}

/** A sealer for one purpose under the master keys. */
export function createSealer(masterKeys: MasterKeys, purpose: string): Sealer {
  const keys = masterKeys.map((masterKey) => ({
    id: masterKeyId(masterKey),
    key: createSecretKey(deriveKey(masterKey, purpose)),
  }))
  const current = keys[0]!
  return {
    seal: (text, context) => `${current.id}.${encrypt(current.key, text, context)}`,
    open(box, context) {
      const dot = box.indexOf('.')
      // The first boxes did not name their master key: each is tried, and the tag tells.
      if (dot < 0)
        return firstThatOpens(
          keys.map(
            ({ key }) =>
              () =>
                decrypt(key, box, context),
          ),
        )
      const found = keys.find((known) => known.id === box.slice(0, dot))
      if (!found) throw new Error('sealed under a master key that is not configured')
      return decrypt(found.key, box.slice(dot + 1), context)
    },
  }
}

function encrypt(key: KeyObject, text: string, context: string): string {
  const nonce = nextNonce()
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  const sealed = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]
  return Buffer.concat(sealed).toString('base64')
}

function decrypt(key: KeyObject, box: string, context: string): string {
  const bytes = Buffer.from(box, 'base64')
  if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error('sealed text is too short')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(-TAG_BYTES))
  const text = [decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]
  return Buffer.concat(text).toString('utf8')
}

function firstThatOpens(attempts: Array<() => string>): string {
  let refusal: unknown
  for (const attempt of attempts) {
    try {
      return attempt()
    } catch (error) {
      refusal = error
    }
  }
  throw refusal
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

/** A 32-byte key for one purpose, derived from a master key (HKDF-SHA-256, RFC 5869). */
export function deriveKey(masterKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', `switchyard/${purpose}`, 32))
}

/** Names a master key without telling anything of it. */
export function masterKeyId(masterKey: Buffer): string {
  return deriveKey(masterKey, 'key-id').subarray(0, KEY_ID_BYTES).toString('base64url')
}

/** What every box under the current master key begins with, and no other. */
export const sealedPrefix = (masterKeys: MasterKeys): string => `${masterKeyId(masterKeys[0])}.`
