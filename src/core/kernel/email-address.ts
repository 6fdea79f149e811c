const LENGTH_MAX = 254
const SHAPE = /^[^\s@]+@[^\s@]+$/
/** Unquoted local parts only: mail servers interpret quoted ones differently. */
const LOCAL_PART = /^[^.()<>[\]:;,\\"]+(\.[^.()<>[\]:;,\\"]+)*$/
const DOMAIN = /^[\p{L}\p{N}\p{M}_-]+(\.[\p{L}\p{N}\p{M}_-]+)*$/u
/**
 * Control, format (zero-width and the like), private and unassigned characters, and characters that render as
 * nothing.
 */
const UNSEEN = /[\p{C}\p{Default_Ignorable_Code_Point}]/u

/** Control characters, which names and addresses do not contain. PostgreSQL cannot store NUL. */
export const hasControlCharacters = (text: string): boolean => /\p{Cc}/u.test(text)

/** The canonical spelling of an email: trimmed, in compatible characters (NFKC), lower case. */
export const normalizeEmail = (text: string): string =>
  text.trim().normalize('NFKC').toLowerCase().normalize('NFKC')

/**
 * Whether normalizing changes only the case of an address; otherwise a mail server may treat both spellings as two
 * mailboxes.
 */
export const onlyItsCaseChanges = (email: string): boolean =>
  email.normalize('NFKC') === email && normalizeEmail(email) === email.toLowerCase()

/** Whether a normalized text has the form of an email. */
export const isEmailShaped = (email: string): boolean =>
  email.length <= LENGTH_MAX && SHAPE.test(email) && !hasControlCharacters(email)

/** Whether a new account may have this normalized email: it contains no invisible or quoted characters. */
export function isPlainEmail(email: string): boolean {
  if (!isEmailShaped(email) || UNSEEN.test(email)) return false
  const [local = '', domain = ''] = email.split('@')
  return LOCAL_PART.test(local) && DOMAIN.test(domain)
}

/** Providers that ignore dots in mailbox names, with the canonical domain of each. */
const DOTLESS: Readonly<Record<string, string>> = {
  'gmail.com': 'gmail.com',
  'googlemail.com': 'gmail.com',
  'proton.me': 'proton.me',
  'protonmail.com': 'proton.me',
  'pm.me': 'proton.me',
}

/**
 * The mailbox of a normalized email, for one free credit per mailbox: without a `+tag`, and without dots at
 * providers that ignore them. Some servers deliver tags to different mailboxes; their owners share one credit.
 */
export function mailboxOf(email: string): string {
  const [local = '', domain = ''] = email.split('@')
  const [untagged = ''] = local.split('+')
  const name = untagged === '' ? local : untagged
  const dotless = DOTLESS[domain]
  if (dotless !== undefined) return `${name.replaceAll('.', '')}@${dotless}`
  // The same domain may be written in Unicode and in ASCII (Punycode).
  const url = `http://${domain}`
  return `${name}@${URL.canParse(url) ? new URL(url).hostname : domain}`
}
