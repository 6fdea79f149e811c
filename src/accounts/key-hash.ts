import { createHmac } from 'node:crypto'
import { deriveKey } from '../platform/sealing.ts'

/** The keyed hash under which an API key is stored; whoever reads the table cannot test guesses without the pepper. */
export type KeyHasher = (secret: string) => Uint8Array<ArrayBuffer>

/** HMAC-SHA-256 under a pepper derived from the master key. Another master key knows none of the stored keys. */
export function createKeyHasher(masterKey: Buffer): KeyHasher {
  const pepper = deriveKey(masterKey, 'api-key-pepper')
  return (secret) => new Uint8Array(createHmac('sha256', pepper).update(secret).digest())
}
