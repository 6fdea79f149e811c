import { createHmac } from 'node:crypto'
import { deriveKey, type MasterKeys, masterKeyId } from '../platform/sealing.ts'

type Hash = Uint8Array<ArrayBuffer>

/**
 * The keyed hash under which an API key is stored; the table alone, without the pepper, does not allow
 * testing guesses.
 */
export type KeyHasher = ReturnType<typeof createKeyHasher>

/** HMAC-SHA-256 with peppers derived from the master keys. Other master keys match none of the stored keys. */
export function createKeyHasher(masterKeys: MasterKeys) {
  const peppers = masterKeys.map((masterKey) => deriveKey(masterKey, 'api-key-pepper'))
  const hashUnder = (pepper: Buffer, secret: string): Hash =>
    new Uint8Array(createHmac('sha256', pepper).update(secret).digest())
  return {
    /** The id of the master key for new hashes. */
    masterKeyId: masterKeyId(masterKeys[0]),
    hash: (secret: string): Hash => hashUnder(peppers[0]!, secret),
    /** The hashes under which a key may be stored, the current first. */
    hashes: (secret: string): Hash[] => peppers.map((pepper) => hashUnder(pepper, secret)),
  }
}
