import { isIP } from 'node:net'
import { isPublicAddress } from './public-address.ts'

export type WebhookUrlCheck = { kind: 'ok'; url: URL } | { kind: 'refused'; reason: string }

const URL_LENGTH_MAX = 2_048
const PORTS = new Set(['', '80', '443'])

/**
 * Whether events may be sent to this address, as far as its text says: https, the usual ports, no
 * credentials, and no address that is not public. What a name resolves to is checked at every connection.
 * `allowPrivate` lifts all but the form.
 */
export function checkWebhookUrl(text: string, allowPrivate: boolean): WebhookUrlCheck {
  const refuse = (reason: string): WebhookUrlCheck => ({ kind: 'refused', reason })
  if (text.length > URL_LENGTH_MAX) return refuse(`is longer than ${URL_LENGTH_MAX} characters`)
  if (!URL.canParse(text)) return refuse('is not a URL')
  const url = new URL(text)
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refuse('is not an https address')
  if (url.username !== '' || url.password !== '') return refuse('carries credentials')
  if (allowPrivate) return { kind: 'ok', url }
  if (url.protocol !== 'https:') return refuse('is not an https address')
  if (!PORTS.has(url.port)) return refuse('uses a port other than 80 and 443')
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0 && !isPublicAddress(host)) return refuse('is not a public address')
  return { kind: 'ok', url }
}
