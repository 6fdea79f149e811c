import { createHash, createHmac } from 'node:crypto'
import { isImportedForm } from '../core/accounts/api-key.ts'
import { deriveKey, type MasterKeys, masterKeyId } from '../platform/sealing.ts'
import { hashOfToken } from './secret-token.ts'

type Hash = Uint8Array<ArrayBuffer>

/**
 * The keyed hash under which an API key is stored; the table alone, without the pepper, does not allow
 * testing guesses.
 */
export type KeyHasher = ReturnType<typeof createKeyHasher>

/** In place of the id of a master key: the hash of an imported key before its first use, SHA-256 as its source had it. */
export const IMPORTED_HASH = 'sha256'

/** The id of an imported key, by which it is known after its first use too. It says nothing of the hash. */
export const importedKeyId = (sha256: Hash): string =>
  `key_${createHash('sha256').update(sha256).digest('hex').slice(0, 26).toUpperCase()}`

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
    hashes: (secret: string): Hash[] => [
      ...peppers.map((pepper) => hashUnder(pepper, secret)),
      ...(isImportedForm(secret) ? [hashOfToken(secret)] : []),
    ],
  }
}
