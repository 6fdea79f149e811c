export const CREDENTIALS_KINDS = ['aws', 'google', 'azure'] as const
export type CredentialsKind = (typeof CREDENTIALS_KINDS)[number]

/** How the key of a cloud's provider becomes what a request is sent with: a signature, or a token that it is exchanged for. */
export interface ProviderCredentials {
  kind: CredentialsKind
  /** The region that requests are signed for; only of `aws`, and always there. */
  region?: string
  /** Where tokens come from, instead of the cloud's own address. */
  tokenUrl?: string
  /** What tokens are for, instead of the cloud's models. */
  scope?: string
}

/** The shortest part of a key that is a secret by itself. */
const PART_CHARS_MIN = 8
const GOOGLE_SECRETS = ['private_key', 'private_key_id', 'client_email', 'client_id']
/** `{` and what may follow it, in base64. */
const IN_BASE64 = /^e[wy][\w+/=\s]+$/

/** The texts of a key that no message may repeat: all of it and each of its parts. */
export function secretsIn(secret: string, kind: CredentialsKind | undefined): string[] {
  if (kind === undefined) return [secret]
  const file = kind === 'google' ? googleKey(secret) : null
  const parts = file ? GOOGLE_SECRETS.map((field) => file[field]) : secret.split(':')
  return [
    secret,
    ...parts
      .filter((part) => typeof part === 'string')
      .flatMap((part) => [part, ...part.split('\n')])
      .filter((part) => part.length >= PART_CHARS_MIN),
  ]
}

/** The file of a service account, as JSON or in base64; null for any other key. */
export function googleKey(secret: string): Record<string, unknown> | null {
  const text = IN_BASE64.test(secret) ? Buffer.from(secret, 'base64').toString() : secret
  if (!text.trimStart().startsWith('{')) return null
  try {
    const key: unknown = JSON.parse(text)
    return typeof key === 'object' && key !== null ? { ...key } : null
  } catch {
    // Its caller treats it as an API key, which Google refuses.
    return null
  }
}
