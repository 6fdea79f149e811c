const BYTES = 12

/** A name for one posting, so that asking for it again after a lost answer posts it once. Works on plain http too. */
export const newReference = (): string =>
  `console-${[...crypto.getRandomValues(new Uint8Array(BYTES))].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
