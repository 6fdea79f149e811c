import { hasControlCharacters } from './email-address.ts'

/** How mail is sent, where it is set up. */
export interface MailSettings {
  /** `smtp://user:password@host:port`, or `smtps://` for TLS from the first byte. */
  smtpUrl: string
  from: string
  /** Where links lead, without a slash at the end. */
  publicUrl: string
}

/** Reads SMTP_URL, MAIL_FROM and PUBLIC_URL; null without SMTP_URL. Adds to `problems` what is wrong with them. */
export function readMailSettings(
  environment: Record<string, string | undefined>,
  problems: string[],
): MailSettings | null {
  const { SMTP_URL: smtpUrl = '', MAIL_FROM: from = '', PUBLIC_URL: publicUrl = '' } = environment
  if (smtpUrl === '') {
    if (from !== '') problems.push('MAIL_FROM goes with SMTP_URL')
    return null
  }
  // The address itself is not repeated: it carries a password.
  if (!isUrlOf(smtpUrl, ['smtp:', 'smtps:'])) problems.push('SMTP_URL must be an smtp or smtps address')
  if (!/\S@\S/.test(from) || hasControlCharacters(from))
    problems.push('SMTP_URL needs MAIL_FROM, such as Switchyard <noreply@example.com>')
  if (!isUrlOf(publicUrl, ['http:', 'https:']))
    problems.push('SMTP_URL needs PUBLIC_URL, an http or https address: links in messages lead there')
  return { smtpUrl, from, publicUrl: publicUrl.replace(/\/+$/, '') }
}

const isUrlOf = (text: string, protocols: readonly string[]): boolean =>
  URL.canParse(text) && protocols.includes(new URL(text).protocol) && new URL(text).hostname !== ''
