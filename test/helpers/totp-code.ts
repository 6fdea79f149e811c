import { Secret, TOTP } from 'otpauth'

/** The code that an authenticator app shows, some periods of half a minute from now. */
export const codeOf = (secret: string, periods = 0): string =>
  new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: Date.now() + periods * 30_000 })
