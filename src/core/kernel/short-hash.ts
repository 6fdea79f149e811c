import { createHash } from 'node:crypto'

const CHARACTERS = 16

/** A name for a text that changes with it; 64 bits, not for secrets. */
export const shortHash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, CHARACTERS)
