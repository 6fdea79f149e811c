/**
 * The differences between two catalog documents, a line for each value: `changes.models[openai/gpt-5].rate.prompt: 1.25
 * → 1.10`. List entries are identified by their id, or by provider and upstream model; their order is ignored. Pure.
 */
export function documentChanges(before: unknown, after: unknown): string[] {
  const [old, now] = [valuesOf(before), valuesOf(after)]
  return [...new Set([...old.keys(), ...now.keys()])]
    .filter((path) => old.get(path) !== now.get(path))
    .map((path) => `${path}: ${old.get(path) ?? 'none'} → ${now.get(path) ?? 'none'}`)
}

function valuesOf(document: unknown): Map<string, string> {
  const values = new Map<string, string>()
  const visit = (value: unknown, path: string): void => {
    const entries = entriesOf(value)
    if (entries === null) values.set(path, typeof value === 'string' ? value : JSON.stringify(value))
    else
      for (const [name, inner] of entries)
        visit(inner, path + (path !== '' && !name.startsWith('[') ? '.' : '') + name)
  }
  visit(document ?? {}, '')
  return values
}

/** The named parts of a value; null for a value that is reported as a whole. */
function entriesOf(value: unknown): Array<[string, unknown]> | null {
  if (typeof value !== 'object' || value === null) return null
  if (!Array.isArray(value)) return Object.entries(value)
  const names = value.map(nameOf)
  if (names.includes(null) || new Set(names).size < names.length) return null
  return value.map((entry: Record<string, unknown>, index) => {
    const naming = typeof entry.id === 'string' ? ['id'] : ['provider', 'upstream_model']
    const rest = Object.entries(entry).filter(([field]) => !naming.includes(field))
    return [`[${names[index]}]`, Object.fromEntries(rest)]
  })
}

function nameOf(entry: unknown): string | null {
  if (typeof entry !== 'object' || entry === null) return null
  const { id, provider, upstream_model: model } = entry as Record<string, unknown>
  if (typeof id === 'string') return id
  return typeof provider === 'string' ? `${provider}/${String(model)}` : null
}
