/**
 * A path of this site to go on to after signing in; null for anything else. An address of another site must not
 * pass, in whatever spelling a browser would follow it (`//host`, `/\host`).
 */
export function localPath(value: unknown): string | null {
  if (typeof value !== 'string' || !/^\/(?![/\\])[\x21-\x7e]*$/.test(value) || value.includes('\\'))
    return null
  return value.startsWith('/sign-') ? null : value
}

/** One text of an address' query, as an object to spread; nothing where it is absent. */
export function textParameter<const Name extends string>(
  search: Record<string, unknown>,
  name: Name,
): { [name in Name]?: string } {
  const value = search[name]
  const text = typeof value === 'number' ? String(value) : value
  return (typeof text === 'string' && text !== '' ? { [name]: text.slice(0, 200) } : {}) as {
    [name in Name]?: string
  }
}

/** The query of an address as plain texts, as every other program reads it; of a name given twice, the last. */
export const readQuery = (query: string): Record<string, string> =>
  Object.fromEntries(new URLSearchParams(query))

/** Writes a query of plain values, what is absent left out; empty without any. */
export function writeQuery(search: Record<string, unknown>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null) query.append(name, String(value))
  }
  return query.size === 0 ? '' : `?${query}`
}
