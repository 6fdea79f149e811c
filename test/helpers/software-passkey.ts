import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'
import type { PasskeyResponse } from '../../src/core/api/second-factor.ts'

/** The parts of WebAuthn's options that an authenticator reads. */
interface Asked {
  challenge: string
}

const USER_PRESENT = 0x01
const USER_VERIFIED = 0x04
const HAS_CREDENTIAL = 0x40

/** An authenticator in software, with one passkey: what a browser and its device do, at one site. */
export function createSoftwarePasskey(origin: string) {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
  const credentialId = randomBytes(16)
  let counter = 0

  const clientData = (type: string, { challenge }: Asked, site: string) =>
    Buffer.from(JSON.stringify({ type, challenge, origin: site, crossOrigin: false }))
  const authenticatorData = (site: string, flags: number, more: Uint8Array = Buffer.alloc(0)) => {
    const count = Buffer.alloc(4)
    count.writeUInt32BE(++counter)
    const rpIdHash = createHash('sha256').update(new URL(site).hostname).digest()
    return Buffer.concat([rpIdHash, Buffer.from([flags]), count, more])
  }
  const response = (parts: Record<string, Uint8Array>): PasskeyResponse => ({
    id: credentialId.toString('base64url'),
    rawId: credentialId.toString('base64url'),
    type: 'public-key',
    response: Object.fromEntries(
      Object.entries(parts).map(([name, bytes]) => [name, Buffer.from(bytes).toString('base64url')]),
    ),
    clientExtensionResults: {},
  })

  return {
    id: credentialId.toString('base64url'),

    /** Makes the passkey. */
    create(asked: Asked, site = origin): PasskeyResponse {
      const key = new Map<number, number | Uint8Array>([
        [1, 2],
        [3, -7],
        [-1, 1],
        [-2, new Uint8Array(Buffer.from(x, 'base64url'))],
        [-3, new Uint8Array(Buffer.from(y, 'base64url'))],
      ])
      const length = Buffer.from([0, credentialId.length])
      const credential = Buffer.concat([Buffer.alloc(16), length, credentialId, isoCBOR.encode(key)])
      const authData = authenticatorData(site, USER_PRESENT | USER_VERIFIED | HAS_CREDENTIAL, credential)
      const attestation = new Map<string, unknown>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', new Uint8Array(authData)],
      ])
      return response({
        clientDataJSON: clientData('webauthn.create', asked, site),
        attestationObject: isoCBOR.encode(attestation as Map<string, never>),
      })
    },

    /** Signs with it. `isVerified`: a finger or a code unlocked the device. */
    get(asked: Asked, { site = origin, isVerified = true } = {}): PasskeyResponse {
      const clientDataJSON = clientData('webauthn.get', asked, site)
      const authData = authenticatorData(site, USER_PRESENT | (isVerified ? USER_VERIFIED : 0))
      const signed = Buffer.concat([authData, createHash('sha256').update(clientDataJSON).digest()])
      return response({
        clientDataJSON,
        authenticatorData: authData,
        signature: sign('sha256', signed, privateKey),
      })
    },
  }
}
