import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomFillSync,
  webcrypto,
} from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { DAY_MS } from '../core/kernel/time.ts'

const NONCE_BYTES = 12
const TAG_BYTES = 16
const KEY_ID_BYTES = 6
/** Derived keys of days to cache. Provider keys and webhook secrets can be from any day. */
const DAYS_KEPT = 256

/**
 * Master keys, 32 bytes each. The first seals and hashes; the others still open what they sealed or hashed, so that the
 * master key can be replaced without losing data.
 */
export type MasterKeys = readonly [current: Buffer, ...others: Buffer[]]

/**
 * Seals text with AES-256-GCM. A text sealed for one purpose does not open for another. Every day (UTC) has its own
 * key, because nonces are random: NIST SP 800-38D, 8.3, allows 2^32 seals under one key, which the fleet would reach
 * within a day only beyond 49,000 seals a second.
 */
export interface Sealer {
  /** `<master key's id>.<days since 1970>.<base64 of nonce ‖ ciphertext ‖ tag>`, bound to `context` (the id of the owner). */
  seal(text: string, context: string): string
  /** Throws if the box was altered, belongs to another context, or its master key is not given. */
  open(box: string, context: string): string
}

/** Also seals into bytes, which are a third shorter, for long texts. */
export interface ByteSealer extends Sealer {
  /** `<master key's id>.<day>.` and then nonce ‖ ciphertext ‖ tag. */
  sealBytes(text: string | Buffer, context: string): Buffer
  /** The same; a long text is sealed off the event loop. */
  sealLater(text: string | Buffer, context: string): Promise<Buffer>
  /** The text as UTF-8. Throws as `open`. */
  openBytes(box: Buffer, context: string): Buffer
  /** The same; a long text is opened off the event loop. Rejects where `open` throws. */
  openLater(box: Buffer, context: string): Promise<Buffer>
}

/** A shorter text takes less time than its way to a thread and back. */
const LONG_TEXT_BYTES = 64 * 1024

/** Creates a sealer for one purpose under the master keys. `clock` returns unix milliseconds. */
export function createSealer(
  masterKeys: MasterKeys,
  purpose: string,
  clock: () => number = Date.now,
): ByteSealer {
  const keys = masterKeys.map((masterKey) => dayKeys(masterKey, purpose))
  const current = keys[0]!
  const today = () => String(Math.floor(clock() / DAY_MS))
  const keyOf = (id: string, day: string | null): KeyObject => {
    const found = keys.find((known) => known.id === id)
    if (!found) throw new Error('sealed under a master key that is not configured')
    return found.keyOf(day)
  }
  const boxOf = (day: string, sealed: Uint8Array[]) =>
    Buffer.concat([Buffer.from(`${current.id}.${day}.`), ...sealed])
  const contentOf = (box: Buffer) => {
    const { id, day, sealed } = partsOf(box)
    return { key: keyOf(id, day), sealed }
  }
  return {
    seal(text, context) {
      const day = today()
      const sealed = Buffer.concat(encrypt(current.keyOf(day), text, context))
      return `${current.id}.${day}.${sealed.toString('base64')}`
    },
    sealBytes(text, context) {
      const day = today()
      return boxOf(day, encrypt(current.keyOf(day), text, context))
    },
    openBytes(box, context) {
      const { key, sealed } = contentOf(box)
      return decrypt(key, sealed, context)
    },
    async sealLater(text, context) {
      const day = today()
      const key = current.keyOf(day)
      if (text.length <= LONG_TEXT_BYTES) return boxOf(day, encrypt(key, text, context))
      const nonce = nextNonce()
      const settings = threadSettings(nonce, context)
      const sealed = await subtle.encrypt(settings, await threadKeyOf(key), bytesOf(text))
      return boxOf(day, [nonce, new Uint8Array(sealed)])
    },
    async openLater(box, context) {
      const { key, sealed } = contentOf(box)
      if (sealed.length <= LONG_TEXT_BYTES) return decrypt(key, sealed, context)
      const settings = threadSettings(sealed.subarray(0, NONCE_BYTES), context)
      const threadKey = await threadKeyOf(key)
      return Buffer.from(await subtle.decrypt(settings, threadKey, sealed.subarray(NONCE_BYTES)))
    },
    open(box, context) {
      const parts = box.split('.', 3)
      const sealed = Buffer.from(parts.pop()!, 'base64')
      const [id, day] = parts
      // The oldest boxes name no master key: each is tried, and the tag shows the right one. Later boxes name no day.
      if (id === undefined) {
        const attempts = keys.map((known) => () => decrypt(known.keyOf(null), sealed, context).toString())
        return firstThatOpens(attempts)
      }
      return decrypt(keyOf(id, day ?? null), sealed, context).toString()
    },
  }
}

function partsOf(box: Buffer): { id: string; day: string; sealed: Buffer } {
  const afterId = box.indexOf('.')
  const afterDay = box.indexOf('.', afterId + 1)
  const text = (start: number, end: number) => box.toString('latin1', start, end)
  return { id: text(0, afterId), day: text(afterId + 1, afterDay), sealed: box.subarray(afterDay + 1) }
}

/** A box of bytes as the text that `open` reads. */
export function textOfBox(box: Buffer): string {
  const { id, day, sealed } = partsOf(box)
  return `${id}.${day}.${sealed.toString('base64')}`
}

/** The keys of one purpose under one master key, by day; null: the key before keys were derived by day. */
function dayKeys(masterKey: Buffer, purpose: string) {
  const derived = new LRUCache<string, KeyObject>({ max: DAYS_KEPT })
  return {
    id: masterKeyId(masterKey),
    keyOf(day: string | null): KeyObject {
      const name = day === null ? purpose : `${purpose}/${day}`
      const known = derived.get(name)
      if (known) return known
      const key = createSecretKey(deriveKey(masterKey, name))
      derived.set(name, key)
      return key
    },
  }
}

/** Nonce, ciphertext and tag. */
function encrypt(key: KeyObject, text: string | Buffer, context: string): Buffer[] {
  const nonce = nextNonce()
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(context))
  return [nonce, cipher.update(bytesOf(text)), cipher.final(), cipher.getAuthTag()]
}

const bytesOf = (text: string | Buffer): Buffer => (typeof text === 'string' ? Buffer.from(text) : text)

const { subtle } = webcrypto

/** AES-256-GCM as of `encrypt`; Web Crypto runs it in a thread, and takes the tag as the end of the ciphertext. */
const threadSettings = (iv: Uint8Array, context: string) => ({
  ...{ name: 'AES-GCM', iv, tagLength: TAG_BYTES * 8 },
  additionalData: Buffer.from(context),
})

const threadKeys = new WeakMap<KeyObject, Promise<webcrypto.CryptoKey>>()

function threadKeyOf(key: KeyObject): Promise<webcrypto.CryptoKey> {
  const known = threadKeys.get(key)
  if (known) return known
  const imported = subtle.importKey('raw', key.export(), 'AES-GCM', false, ['encrypt', 'decrypt'])
  threadKeys.set(key, imported)
  return imported
}

function decrypt(key: KeyObject, bytes: Buffer, context: string): Buffer {
  if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error('sealed text is too short')
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(context))
    .setAuthTag(bytes.subarray(-TAG_BYTES))
  const text = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES))
  // It throws if the tag is wrong, and adds nothing.
  decipher.final()
  return text
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

/** A random nonce, used once. Many are drawn at once, since a draw costs more than sealing. */
function nextNonce(): Buffer {
  if (noncesUsed === NONCES_AT_ONCE) {
    randomFillSync(nonces)
    noncesUsed = 0
  }
  const start = noncesUsed++ * NONCE_BYTES
  return Buffer.from(nonces.subarray(start, start + NONCE_BYTES))
}

/**
 * The info of every derivation (RFC 5869). It has the project's first name, and keeps it: under another all that is
 * stored sealed, and every hash of a key, would be lost.
 */
export const derivationInfo = (purpose: string): string => `switchyard/${purpose}`

/** A 32-byte key for one purpose, derived from a master key (HKDF-SHA-256, RFC 5869). */
export function deriveKey(masterKey: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, '', derivationInfo(purpose), 32))
}

/** An id of a master key that reveals nothing about it. */
export function masterKeyId(masterKey: Buffer): string {
  return deriveKey(masterKey, 'key-id').subarray(0, KEY_ID_BYTES).toString('base64url')
}

/** The prefix of every box under the current master key, and of no other. */
export const sealedPrefix = (masterKeys: MasterKeys): string => `${masterKeyId(masterKeys[0])}.`
