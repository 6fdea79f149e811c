import { parseCursor, parseMoment } from '../billing/usage-query.ts'
import { hasControlCharacters } from '../kernel/email-address.ts'

/** The formats that schemas name: whether a text is of the format. */
export const SCHEMA_FORMATS = {
  line: (text: string) => !hasControlCharacters(text),
  moment: (text: string) => parseMoment(text) !== null,
  cursor: (text: string) => parseCursor(text) !== null,
}
