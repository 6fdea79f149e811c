import { readFileSync, writeFileSync } from 'node:fs'
import { SETTINGS } from '../src/config.ts'

/** `node tools/settings-table.ts` writes the table of settings in docs/operating.md from the schema of the configuration. */
export const SETTINGS_PAGE = new URL('../docs/operating.md', import.meta.url)

const TABLE = /\| variable \| default \| \|\n(\|.*\n)+/

/** The page with its table as the schema has it. */
export function withSettingsTable(page: string): string {
  if (!TABLE.test(page)) throw new Error('docs/operating.md has no table of settings')
  const rows = SETTINGS.map(
    ({ variable, default: byDefault, description }) =>
      `| \`${variable}\` | ${String(byDefault ?? '')} | ${description} |\n`,
  )
  return page.replace(TABLE, () => `| variable | default | |\n|---|---|---|\n${rows.join('')}`)
}

if (import.meta.main) writeFileSync(SETTINGS_PAGE, withSettingsTable(readFileSync(SETTINGS_PAGE, 'utf8')))
