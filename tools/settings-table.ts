import { readFileSync, writeFileSync } from 'node:fs'
import { SETTINGS } from '../src/config.ts'

/**
 * `node tools/settings-table.ts` writes the table of settings in docs/operating.md from the schema of the configuration, and adds
 * to docker-compose.yml the settings that it does not pass on yet.
 */
export const SETTINGS_PAGE = new URL('../docs/operating.md', import.meta.url)
export const COMPOSE_FILE = new URL('../docker-compose.yml', import.meta.url)

/** What only `npm start` reads. */
export const OF_THE_LAUNCHER: readonly string[] = ['ONE_PROCESS']

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

/** The compose file with every setting: one that it misses comes after the one before it in the schema. */
export function withSettingsPassedOn(compose: string): string {
  const variables = SETTINGS.map(({ variable }) => variable).filter((name) => !OF_THE_LAUNCHER.includes(name))
  return variables.reduce((text, variable, index) => {
    if (new RegExp(`^ +${variable}:`, 'm').test(text)) return text
    return text.replace(
      new RegExp(`^  ${variables[index - 1]}:.*\n`, 'm'),
      (before) => `${before}  ${variable}: \${${variable}:-}\n`,
    )
  }, compose)
}

if (import.meta.main) {
  writeFileSync(SETTINGS_PAGE, withSettingsTable(readFileSync(SETTINGS_PAGE, 'utf8')))
  writeFileSync(COMPOSE_FILE, withSettingsPassedOn(readFileSync(COMPOSE_FILE, 'utf8')))
}
