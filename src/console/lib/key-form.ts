/** What is wrong with a whole number above zero that may be left out; null when nothing is. */
export const wholeNumberProblem = (text: string): string | null =>
  text === '' || /^[1-9]\d{0,8}$/.test(text)
    ? null
    : 'Enter a whole number of at least 1, or nothing for the default.'

/** The last moment of a day where the reader is, as the gateway takes it. */
export const endOfDay = (day: string): string => new Date(`${day}T23:59:59.999`).toISOString()
