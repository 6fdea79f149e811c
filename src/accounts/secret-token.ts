import { createHash, randomBytes } from 'node:crypto'

const TOKEN_BYTES = 32
const TOKEN = /^[\w-]{43}$/

/** A new secret of 256 random bits, as text for a cookie or a link. */
export const newToken = (): string => randomBytes(TOKEN_BYTES).toString('base64url')

export const isToken = (text: string): boolean => TOKEN.test(text)

/** SHA-256, the only stored form of a token, so that the table contains no usable tokens. */
export const hashOfToken = (token: string): Uint8Array<ArrayBuffer> =>
  new Uint8Array(createHash('sha256').update(token).digest())
