import { BASE_PATH } from '../lib/base-path.ts'

/**
 * A path of this site to continue at after signing in; null for anything else. An address of another site must not
 * pass, in whatever spelling a browser would follow it (`//host`, `/\host`).
 */
export function localPath(value: unknown): string | null {
  if (typeof value !== 'string' || !/^\/(?![/\\])[\x21-\x7e]*$/.test(value) || value.includes('\\'))
    return null
  return value.startsWith('/sign-') ? null : value
}

/** Of the address that a sign-in with another service came back to: the token of its step; null: none. */
export const stepOf = ({ hash }: { hash: string }): string | null => /^step=([\w-]+)$/.exec(hash)?.[1] ?? null

/** The fragment of an address with its `#`; empty without one. */
export const fragmentOf = ({ hash }: { hash: string }): string =>
  hash === '' || stepOf({ hash }) !== null ? '' : `#${hash}`

/** Where an operator continues after signing in. The queue board is a page of the server, not of this router. */
export function onwards(next = '/admin') {
  const reloadDocument = next.startsWith('/admin/queues')
  return { href: reloadDocument ? BASE_PATH + next : next, reloadDocument }
}

/** Reads these texts of an address' query; what is absent or empty is left out. */
export const textParameters =
  <const Name extends string>(...names: Name[]) =>
  (search: Record<string, unknown>): { [name in Name]?: string } => {
    const found: { [name in Name]?: string } = {}
    for (const name of names) {
      const value = search[name]
      const text = typeof value === 'number' ? String(value) : value
      if (typeof text === 'string' && text !== '') found[name] = text.slice(0, 200)
    }
    return found
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
