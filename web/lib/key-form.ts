import { formatCount } from './figures.ts'

/** What is wrong with a whole number above zero, up to `max`, that may be left out; null when nothing is. */
export function wholeNumberProblem(text: string, max = 999_999_999): string | null {
  if (text === '') return null
  if (!/^[1-9]\d{0,8}$/.test(text)) return 'Enter a whole number of at least 1, or nothing for the default.'
  return Number(text) > max ? `At most ${formatCount(max)}, which is also the default.` : null
}

/** The last moment of a day where the reader is, as the gateway takes it. */
export const endOfDay = (day: string): string => new Date(`${day}T23:59:59.999`).toISOString()
