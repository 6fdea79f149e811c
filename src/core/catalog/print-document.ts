import type { CatalogDocument } from './catalog-document.ts'

/** One provider and one model a line, so that a change of one price is a change of one line. */
export function printDocument({ providers = [], models: all = [], ...head }: CatalogDocument): string {
  const lines = (entries: readonly object[]) =>
    entries.map((entry) => `  ${JSON.stringify(entry)}`).join(',\n')
  const fields = Object.entries(head).map(([name, value]) => ` "${name}": ${JSON.stringify(value)},\n`)
  return `{\n${fields.join('')} "providers": [\n${lines(providers)}\n ],\n "models": [\n${lines(all)}\n ]\n}\n`
}
