import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import pg from 'pg'
import pino from 'pino'
import { parse } from 'yaml'
import { readConfig } from '../config.ts'
import type { CatalogDocument } from '../core/catalog/catalog-document.ts'
import { withServices } from './admin.ts'
import { openCatalog, readEdits } from './catalog-edits.ts'
import { readGatewayDocument } from './gateway-file/gateway-document.ts'
import { applyDocument } from './gateway-file.ts'
import { fromLitellmConfig } from './import/from-litellm-config.ts'
import { fromLitellmDatabase, LITELLM_TABLES, type LitellmRows } from './import/from-litellm-database.ts'
import { fromNewApi } from './import/from-new-api.ts'
import { fromOpenRouter } from './import/from-openrouter.ts'
import { fromPortkey } from './import/from-portkey.ts'
import { type KnownModels, knownModels } from './import/known-models.ts'
import type { ImportOptions, Note, Translation } from './import/translation.ts'
import { type CommandOutput, runAsProcess, UsageError } from './run-command.ts'

const USAGE = `Usage: shuntyard import litellm CONFIG.yaml [--database URL] [OPTIONS]
       shuntyard import new-api EXPORT.json [OPTIONS]     the tables users, tokens and channels: {"users": [...], ...}
       shuntyard import openrouter LOG [OPTIONS]          requests, as a JSON list or a line each
       shuntyard import portkey CONFIGS.json [OPTIONS]

Translates what another gateway has into a gateway file and applies it. Keys stay valid with the secrets that clients
have. Prints what becomes what (=), what differs (~) and what has no equal (-). A second run changes nothing.
  --dry-run        changes nothing
  --owner EMAIL    owns teams without an admin, and keys without a user
  --credit USD     of each account that is new and has no total in the source`

interface Source {
  path: string
  database: string | undefined
}

type Translate = (source: Source, known: KnownModels, options: ImportOptions) => Promise<Translation>

const SOURCES: Readonly<Record<string, Translate>> = {
  async litellm({ path, database }, known, options) {
    const rows = database === undefined ? null : await readLitellm(database)
    const models = fromLitellmConfig(
      parse(await readFile(path, 'utf8')),
      known,
      options,
      rows?.ProxyModelTable,
    )
    const { accounts, notes } = rows
      ? fromLitellmDatabase(rows, models, options, Date.now())
      : { accounts: [], notes: [] }
    return { catalog: models.catalog, accounts, notes: [...models.notes, ...notes] }
  },
  'new-api': async ({ path }, known, options) =>
    fromNewApi(JSON.parse(await readFile(path, 'utf8')), known, options, Date.now()),
  async openrouter({ path }, known, options) {
    const text = (await readFile(path, 'utf8')).trim()
    const requests = text.startsWith('[')
      ? JSON.parse(text)
      : text.split('\n').map((line) => JSON.parse(line))
    return fromOpenRouter(requests, known, options)
  },
  portkey: async ({ path }, known, options) =>
    fromPortkey(JSON.parse(await readFile(path, 'utf8')), known, options),
}

/** `npm run import -- SOURCE FILE`: what another gateway has, as a gateway file that is applied. */
export async function importGateway(args: string[], environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      database: { type: 'string' },
      'dry-run': { type: 'boolean' },
      owner: { type: 'string' },
      credit: { type: 'string' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  const [name = '', path, ...others] = positionals
  const translate = Object.hasOwn(SOURCES, name) ? SOURCES[name] : undefined
  if (!translate || path === undefined || others.length > 0 || values.help) throw new UsageError(USAGE)

  const config = readConfig(environment)
  const edits = await readEdits(environment)
  // Without the edits, among which are those of an earlier import.
  const { catalog: shipped } = await openCatalog(config, environment, null, pino({ level: 'silent' }))
  const options = {
    owner: values.owner,
    credit: values.credit,
    environment,
    keyNames: config.catalogKeyNames,
  }
  const source = { path, database: values.database }
  const { catalog, accounts, notes } = await translate(source, knownModels(shipped.snapshot()), options)
  const document = readGatewayDocument(
    JSON.stringify({
      ...(Object.keys(catalog).length > 0 && { catalog: merged(edits?.content ?? {}, catalog) }),
      accounts,
    }),
  )
  const isDryRun = values['dry-run'] === true
  const applied = await withServices(environment, (services) =>
    applyDocument(services, document, isDryRun, environment),
  )
  return {
    ...applied,
    data: { ...(applied.data as object), notes },
    text: [...notes.map(lineOf), '', applied.text].join('\n').trimStart(),
    failed: false,
  }
}

const MARKS = { same: '=', differs: '~', lost: '-' } as const
const lineOf = ({ kind, what, text }: Note): string => `${MARKS[kind]} ${what}: ${text}`

/** The edits in use with the entries of an import, which replace those of the same id. */
function merged(edits: CatalogDocument, added: Translation['catalog']): CatalogDocument {
  const lists = (['providers', 'models', 'aliases'] as const).map((name) => {
    const ids = new Set((added[name] ?? []).map(({ id }) => id))
    const kept = (edits[name] ?? []).filter(({ id }) => !ids.has(id))
    return [name, [...kept, ...(added[name] ?? [])]] as const
  })
  const offers = new Map((edits.changes?.offers ?? []).map((change) => [offerOf(change), change]))
  for (const change of added.changes?.offers ?? [])
    offers.set(offerOf(change), { ...offers.get(offerOf(change)), ...change })
  return {
    ...edits,
    ...Object.fromEntries(lists.filter(([, entries]) => entries.length > 0)),
    ...(offers.size > 0 && { changes: { ...edits.changes, offers: [...offers.values()] } }),
  }
}

const offerOf = (change: { provider: string; upstream_model: string }) =>
  `${change.provider}/${change.upstream_model}`

/** The rows of a LiteLLM proxy's database; a table that its version does not have is empty. */
async function readLitellm(connectionString: string): Promise<LitellmRows> {
  const client = new pg.Client({ connectionString })
  await client.connect()
  try {
    const read = async (table: string): Promise<Array<Record<string, unknown>>> => {
      const name = `"LiteLLM_${table}"`
      const { rows: found } = await client.query('SELECT to_regclass($1) IS NOT NULL AS exists', [name])
      if (!found[0]?.exists) return []
      // As JSON, so that times and big numbers are texts and numbers whatever the driver makes of them.
      const { rows } = await client.query(`SELECT to_jsonb(one) AS row FROM ${name} one ORDER BY 1`)
      return rows.map(({ row }) => row)
    }
    const tables = {} as Record<keyof LitellmRows, Array<Record<string, unknown>>>
    for (const table of LITELLM_TABLES) tables[table] = await read(table)
    return tables
  } finally {
    await client.end()
  }
}

if (import.meta.main) await runAsProcess(importGateway)
