import { createHash } from 'node:crypto'

const CHARACTERS = 16

/** A 64-bit hash of a text, for change detection; not for secrets. */
export const shortHash = (text: string): string =>
  createHash('sha256').update(text).digest('hex').slice(0, CHARACTERS)
