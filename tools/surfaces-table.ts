import { readFileSync, writeFileSync } from 'node:fs'
import { SURFACES } from '../src/core/api/surfaces/surface-registry.ts'

/** `node tools/surfaces-table.ts` writes the table of surfaces in docs/api.md from the registry. */
export const SURFACES_PAGE = new URL('../docs/api.md', import.meta.url)

const TABLE = /\| surface \| status \| keys \| \|\n(\|.*\n)+/
const KEYS = { open: 'every key', granted: 'opened by the operator', closed: 'none' }

/** The page with its table as the registry has it. */
export function withSurfacesTable(page: string): string {
  if (!TABLE.test(page)) throw new Error('docs/api.md has no table of surfaces')
  const rows = SURFACES.map(({ method, path, status, access, behaviour }) => {
    const keys = status === 'Public' ? 'none needed' : KEYS[access]
    return `| \`${method} ${path}\` | ${status} | ${keys} | ${behaviour} |\n`
  })
  return page.replace(TABLE, () => `| surface | status | keys | |\n|---|---|---|---|\n${rows.join('')}`)
}

if (import.meta.main) writeFileSync(SURFACES_PAGE, withSurfacesTable(readFileSync(SURFACES_PAGE, 'utf8')))
