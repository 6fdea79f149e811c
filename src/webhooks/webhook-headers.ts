import { Webhook } from 'standardwebhooks'

const SECRET_BYTES = 32
const SECRET_BYTES_MIN = 24
const PREFIX = 'whsec_'

export const newSigningSecret = (randomBytes: (count: number) => Uint8Array): string =>
  `${PREFIX}${Buffer.from(randomBytes(SECRET_BYTES)).toString('base64')}`

export const isSigningSecret = (text: string): boolean =>
  /^whsec_[A-Za-z0-9+/]+={0,2}$/.test(text) &&
  Buffer.from(text.slice(PREFIX.length), 'base64').length >= SECRET_BYTES_MIN

/** The headers of Standard Webhooks, signed with each secret. */
export function webhookHeaders(
  id: string,
  body: string,
  secrets: readonly string[],
  nowMs: number,
): Record<string, string> {
  const now = new Date(nowMs)
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(nowMs / 1000)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, now, body)).join(' '),
  }
}
