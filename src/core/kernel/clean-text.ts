/** A text cut to its maximum, without the control characters and lone surrogates that PostgreSQL's JSON does not accept; undefined: nothing is left. */
export function cleanText(text: string, charsMax: number): string | undefined {
  const cut = text.length > 2 * charsMax ? text.slice(0, 2 * charsMax) : text
  const clean = cut
    .replace(/\p{Cc}+/gu, ' ')
    .trim()
    .slice(0, charsMax)
    .toWellFormed()
  return clean === '' ? undefined : clean
}
