import { canonicalId } from './canonical-id.ts'
import { dateOfName } from './readable-name.ts'

/**
 * When models were released, by canonical key, from the dates that names carry: a dated version's own date, and for a
 * name without one the date of its earliest dated version. `2025-08` stands for the first of the month; dates without
 * a year are not used.
 */
export function releaseDates(names: readonly string[]): ReadonlyMap<string, string> {
  const dates = new Map<string, string>()
  const ofName = new Map<string, string>()
  const add = (key: string | undefined, date: string) => {
    const known = key === undefined ? date : dates.get(key)
    if (key !== undefined && (known === undefined || date < known)) dates.set(key, date)
  }
  for (const name of names) {
    const plain = plainName(name)
    const dated = dateOfName(plain)
    if (!dated || dated.date.length < '2025-08'.length) continue
    const date = dated.date.length === '2025-08'.length ? `${dated.date}-01` : dated.date
    const own = canonicalId(null, plain)?.key
    if (own !== undefined) ofName.set(own, date)
    add(canonicalId(null, dated.rest)?.key, date)
  }
  // A name's own date is that of the version it names.
  return new Map([...dates, ...ofName])
}

/** Without what clouds write around a model's name: regions, providers, versions of their own. */
const plainName = (name: string): string =>
  name
    .replace(/^(?:azure|azure_ai|vertex_ai|bedrock|gemini|openrouter|vercel_ai_gateway)\/(?:[a-z-]+\/)?/, '')
    .replace(/^(?:[a-z-]+\.)?(?:anthropic)\./, '')
    .replace(/@default$|-v\d+:\d+$/, '')
    .replace(/@(?=\d{8}$)/, '-')
