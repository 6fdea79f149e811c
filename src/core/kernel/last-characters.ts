const LAST_CHARS = 4
const SHOWN_FROM_CHARS = 16

/** The end of a secret, to recognize it by. The last characters of a short one would reveal too much: none. */
export const lastCharacters = (secret: string): string =>
  secret.length < SHOWN_FROM_CHARS ? '' : secret.slice(-LAST_CHARS)
