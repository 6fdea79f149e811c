import { hasControlCharacters } from './email-address.ts'

export interface MailSettings {
  /** `smtp://user:password@host:port`, or `smtps://` for TLS from the first byte. */
  smtpUrl: string
  from: string
  /** Base URL of links, without a trailing slash. */
  publicUrl: string
}

/** Reads SMTP_URL, MAIL_FROM and PUBLIC_URL; null without SMTP_URL. Adds invalid values to `problems`. */
export function readMailSettings(
  environment: Record<string, string | undefined>,
  problems: string[],
): MailSettings | null {
  const { SMTP_URL: smtpUrl = '', MAIL_FROM: from = '', PUBLIC_URL: publicUrl = '' } = environment
  if (smtpUrl === '') {
    if (from !== '') problems.push('MAIL_FROM goes with SMTP_URL')
    return null
  }
  // The URL itself is not repeated: it contains a password.
  if (!isUrlOf(smtpUrl, ['smtp:', 'smtps:'])) problems.push('SMTP_URL must be an smtp or smtps address')
  if (!/\S@\S/.test(from) || hasControlCharacters(from))
    problems.push('SMTP_URL needs MAIL_FROM, such as Switchyard <noreply@example.com>')
  if (!isUrlOf(publicUrl, ['http:', 'https:']))
    problems.push('SMTP_URL needs PUBLIC_URL, an http or https address: links in messages lead there')
  return { smtpUrl, from, publicUrl: publicUrl.replace(/\/+$/, '') }
}

const isUrlOf = (text: string, protocols: readonly string[]): boolean =>
  URL.canParse(text) && protocols.includes(new URL(text).protocol) && new URL(text).hostname !== ''
