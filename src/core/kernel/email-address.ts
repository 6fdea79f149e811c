const LENGTH_MAX = 254
const SHAPE = /^[^\s@]+@[^\s@]+$/
/** Unquoted local parts only: in a quoted one, mail servers differ about where a message goes. */
const LOCAL_PART = /^[^.()<>[\]:;,\\"]+(\.[^.()<>[\]:;,\\"]+)*$/
const DOMAIN = /^[\p{L}\p{N}\p{M}_-]+(\.[\p{L}\p{N}\p{M}_-]+)*$/u
/** Control, format (zero-width and the like), private and unassigned characters, and what renders as nothing. */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}]/u

/** Control characters, which no name and no address has. PostgreSQL does not store NUL at all. */
export const hasControlCharacters = (text: string): boolean => /\p{Cc}/u.test(text)

/** The one spelling of an email: without spaces around it, in compatible characters (NFKC), lower case. */
export const normalizeEmail = (text: string): string =>
  text.trim().normalize('NFKC').toLowerCase().normalize('NFKC')

/** Whether a normalized text may be an email at all. */
export const isEmailShaped = (email: string): boolean =>
  email.length <= LENGTH_MAX && SHAPE.test(email) && !hasControlCharacters(email)

/** Whether a normalized email is one that a new account may have: nothing in it is unseen or quoted. */
export function isPlainEmail(email: string): boolean {
  if (!isEmailShaped(email) || UNSEEN.test(email)) return false
  const [local = '', domain = ''] = email.split('@')
  return LOCAL_PART.test(local) && DOMAIN.test(domain)
}

/** Providers whose mailboxes do not tell dots apart, and the one name of each. */
const DOTLESS: Readonly<Record<string, string>> = {
  'gmail.com': 'gmail.com',
  'googlemail.com': 'gmail.com',
  'proton.me': 'proton.me',
  'protonmail.com': 'proton.me',
  'pm.me': 'proton.me',
}

/**
 * The mailbox behind a normalized email, for giving free credit once a mailbox: without a `+tag`, and at providers
 * that ignore them without dots. Some servers do deliver tags to different mailboxes; their owners share a credit.
 */
export function mailboxOf(email: string): string {
  const [local = '', domain = ''] = email.split('@')
  const [untagged = ''] = local.split('+')
  const name = untagged === '' ? local : untagged
  const dotless = DOTLESS[domain]
  if (dotless !== undefined) return `${name.replaceAll('.', '')}@${dotless}`
  // The same domain may be written in its own letters and in ASCII (Punycode).
  const url = `http://${domain}`
  return `${name}@${URL.canParse(url) ? new URL(url).hostname : domain}`
}
