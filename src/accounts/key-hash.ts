import { createHmac } from 'node:crypto'
import { deriveKey, type MasterKeys, masterKeyId } from '../platform/sealing.ts'

type Hash = Uint8Array<ArrayBuffer>

/**
 * The keyed hash under which an API key is stored; the table alone, without the pepper, does not allow
 * testing guesses.
 */
export interface KeyHasher {
  /** The id of the master key for new hashes. */
  masterKeyId: string
  hash(secret: string): Hash
  /** The hashes under which a key may be stored, the current first. */
  hashes(secret: string): Hash[]
}

/** HMAC-SHA-256 with peppers derived from the master keys. Other master keys match none of the stored keys. */
export function createKeyHasher(masterKeys: MasterKeys): KeyHasher {
  const peppers = masterKeys.map((masterKey) => deriveKey(masterKey, 'api-key-pepper'))
  const hashUnder = (pepper: Buffer, secret: string): Hash =>
    new Uint8Array(createHmac('sha256', pepper).update(secret).digest())
  return {
    masterKeyId: masterKeyId(masterKeys[0]),
    hash: (secret) => hashUnder(peppers[0]!, secret),
    hashes: (secret) => peppers.map((pepper) => hashUnder(pepper, secret)),
  }
}
