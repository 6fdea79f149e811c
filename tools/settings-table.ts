import { readFileSync, writeFileSync } from 'node:fs'
import { SETTINGS } from '../src/config.ts'

/**
 * `node tools/settings-table.ts` writes the table of settings in docs/operating.md and the schema of the Helm chart's values from
 * the schema of the configuration, and adds to docker-compose.yml the settings that it does not pass on yet.
 */
export const SETTINGS_PAGE = new URL('../docs/operating.md', import.meta.url)
export const COMPOSE_FILE = new URL('../docker-compose.yml', import.meta.url)
export const VALUES_SCHEMA = new URL('../deploy/helm/shuntyard/values.schema.json', import.meta.url)

/** What only `npm start` reads. */
export const OF_THE_LAUNCHER: readonly string[] = ['ONE_PROCESS']

/** What the Helm chart decides itself. */
const OF_THE_CHART: readonly string[] = ['HOST', 'PORT', 'METRICS_HOST', 'METRICS_PORT', 'DATA_DIR']
/** Settings that are secrets, or addresses with passwords. The chart takes them from a Secret only. */
export const SECRET =
  /(^|_)(SECRET|MASTER_KEY|AUTHORIZATION)($|_)|^(DATABASE|REDIS|SMTP|CLICKHOUSE)\w*_URLS?$/

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

/** The JSON schema of the chart's values: `config` takes settings by name, each as the configuration does, and no secret. */
export function valuesSchema(): string {
  const inConfig = SETTINGS.filter(
    ({ variable }) => ![...OF_THE_LAUNCHER, ...OF_THE_CHART].includes(variable) && !SECRET.test(variable),
  )
  const config = {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(inConfig.map((setting) => [setting.variable, valueSchema(setting)])),
  }
  const schema = {
    $schema: 'http://json-schema.org/draft-07/schema#',
    type: 'object',
    properties: { config },
  }
  return `${JSON.stringify(schema, null, 2)}\n`
}

function valueSchema(setting: (typeof SETTINGS)[number]): object {
  const { type, enum: words, minimum, maximum, pattern } = setting as unknown as Record<string, unknown>
  if (words) return { enum: words }
  if (type === 'integer') return { type, minimum, maximum }
  return type === 'boolean' ? { type } : { type: 'string', pattern }
}

if (import.meta.main) {
  writeFileSync(SETTINGS_PAGE, withSettingsTable(readFileSync(SETTINGS_PAGE, 'utf8')))
  writeFileSync(COMPOSE_FILE, withSettingsPassedOn(readFileSync(COMPOSE_FILE, 'utf8')))
  writeFileSync(VALUES_SCHEMA, valuesSchema())
}
