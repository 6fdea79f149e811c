import { createTransport } from 'nodemailer'
import type { MailSettings } from '../../core/kernel/service-addresses.ts'

export interface MailMessage {
  to: string
  subject: string
  /** Plain text. */
  text: string
}

/** Sends mail over SMTP, a connection a message. */
export type Mailer = ReturnType<typeof createMailer>

const CONNECT_TIMEOUT_MS = 10_000
/** Of silence, once connected. */
const IDLE_TIMEOUT_MS = 30_000

export function createMailer({ smtpUrl, from }: Pick<MailSettings, 'smtpUrl' | 'from'>) {
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: CONNECT_TIMEOUT_MS,
    greetingTimeout: CONNECT_TIMEOUT_MS,
    socketTimeout: IDLE_TIMEOUT_MS,
    dnsTimeout: CONNECT_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    /**
     * `sent`: the server took it. `refused`: it will never take mail for this recipient (a 5xx answer to RCPT). Throws
     * on everything that may pass, or is ours to mend.
     */
    async send({ to, subject, text }: MailMessage): Promise<'sent' | 'refused'> {
      try {
        await transport.sendMail({
          from,
          // As an object it is one address, never a list to parse.
          to: { name: '', address: to },
          subject,
          text,
          // RFC 3834: nobody's vacation responder answers.
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
        return 'sent'
      } catch (error) {
        if (isRefusedRecipient(error)) return 'refused'
        throw error
      }
    },
  }
}

const isRefusedRecipient = (error: unknown): boolean =>
  error instanceof Error &&
  'command' in error &&
  error.command === 'RCPT TO' &&
  'responseCode' in error &&
  Number(error.responseCode) >= 500
