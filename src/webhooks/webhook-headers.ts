import { Webhook } from 'standardwebhooks'

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
