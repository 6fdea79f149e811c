import { readFileSync } from 'node:fs'
import type { MailMessage } from '../platform/network/mailer.ts'

/** The subject, an empty line, the text. */
const TEMPLATE = readFileSync(new URL('./verification-message.txt', import.meta.url), 'utf8')

/**
 * The message with the link that verifies an address. The token is behind `#`: browsers do not send it, so no
 * server logs it.
 */
export function verificationMessage(email: string, token: string, publicUrl: string): MailMessage {
  const [subject = '', ...text] = TEMPLATE.replaceAll('{{site}}', publicUrl)
    .replaceAll('{{link}}', `${publicUrl}/verify#${token}`)
    .split('\n')
  return { to: email, subject, text: text.join('\n').trimStart() }
}
