/**
 * The operator's catalog commands:
 *
 *   import FILE [--check]   checks a catalog file and puts it in CATALOG_FILE's place
 *   show [ID] [--all]       the catalog in use, or one model of it; --all also without their keys
 *   sync                    asks every provider for its models and prints what appeared and disappeared
 *
 * Each prints JSON with --json and exits non-zero on failure.
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createCatalogStore } from '../catalog/catalog-store.ts'
import { compareListings, type ListingComparison } from '../catalog/compare-listings.ts'
import { checkCatalogFile, installCatalogFile } from '../catalog/install-catalog-file.ts'
import { catalogModel, catalogModelList } from '../catalog/model-list.ts'
import { type Config, readConfig } from '../config.ts'
import { type CatalogSnapshot, findModel, type Model } from '../core/catalog.ts'
import { formatRate } from '../core/money.ts'

const USAGE = `usage: catalog import FILE [--check] [--json]
       catalog show [ID] [--all] [--json]
       catalog sync [--json]`

/** What a command has to say: for scripts and for people, and whether it succeeded. */
interface Report {
  json: unknown
  text: string
  ok: boolean
}

type CatalogConfig = Pick<
  Config,
  'catalogFile' | 'simulatedProvidersUrl' | 'ollamaUrl' | 'discountPercent' | 'openWeightsDiscountPercent'
>

async function run(positionals: string[], flags: { all: boolean; check: boolean }): Promise<Report> {
  const [command, argument, ...rest] = positionals
  if (rest.length > 0) throw new Error(USAGE)
  const config = catalogConfig()
  switch (command) {
    case 'import':
      if (argument === undefined) throw new Error(USAGE)
      // npm runs scripts in the project's folder; paths are meant from where it was called.
      return importFile(resolve(process.env.INIT_CWD ?? '', argument), config, flags.check)
    case 'show':
      return show(argument, await loadSnapshot(config, flags.all))
    case 'sync':
      if (argument !== undefined) throw new Error(USAGE)
      return sync(await loadSnapshot(config, false))
    default:
      throw new Error(USAGE)
  }
}

/** The settings of the catalog. It works before there is a database, so what others need is made up. */
function catalogConfig(): CatalogConfig {
  const notUsed = { DATABASE_URL: 'not used', REDIS_URL: 'not used', MASTER_KEY: '0'.repeat(64) }
  return readConfig({ ...notUsed, ...process.env })
}

async function importFile(path: string, config: CatalogConfig, checkOnly: boolean): Promise<Report> {
  const { catalogFile, discountPercent, openWeightsDiscountPercent } = config
  const generatedAt = Math.floor(Date.now() / 1000)
  const options = { discountPercent, openWeightsDiscountPercent, generatedAt }
  const checked = await checkCatalogFile(path, config.simulatedProvidersUrl, options)
  if (checked.kind === 'problems') {
    const text = `Not imported:\n  ${checked.problems.join('\n  ')}`
    return { json: { error: 'the file is not valid', problems: checked.problems }, text, ok: false }
  }
  const summary = {
    file: path,
    version: checked.snapshot.version,
    models: checked.snapshot.models.size,
    keys_missing: missingKeys(checked.snapshot),
  }
  const warning =
    summary.keys_missing.length > 0 ? ` Keys not set here: ${summary.keys_missing.join(', ')}.` : ''
  if (checkOnly) {
    const text = `${path} is valid: the catalog would hold ${summary.models} models.${warning}`
    return { json: { ...summary, installed: null }, text, ok: true }
  }
  if (catalogFile === null) {
    throw new Error(
      `${path} is valid, but CATALOG_FILE is not set, so there is no place to put it. Set it, or use --check.`,
    )
  }
  await installCatalogFile(checked.content, catalogFile)
  const text = `${path} is now ${catalogFile}: the catalog holds ${summary.models} models.${warning}`
  return { json: { ...summary, installed: catalogFile }, text, ok: true }
}

function missingKeys(catalog: CatalogSnapshot): string[] {
  const names = [...catalog.offers.values()].flatMap(({ provider }) => provider.apiKeyEnv ?? [])
  return [...new Set(names)].filter((name) => !process.env[name]).sort()
}

async function loadSnapshot(config: CatalogConfig, all: boolean): Promise<CatalogSnapshot> {
  const environment = all ? new Proxy<Record<string, string>>({}, { get: () => 'assumed' }) : process.env
  const toStderr = ({ err }: { err: unknown }, message: string) => {
    process.stderr.write(`${message}: ${(err as Error).message}\n`)
  }
  const logger = { info: () => undefined, warn: toStderr, error: toStderr }
  const store = await createCatalogStore({ ...config, environment, logger })
  store.close()
  return store.snapshot()
}

function show(id: string | undefined, catalog: CatalogSnapshot): Report {
  if (id === undefined) {
    const models = [...catalog.models.values()]
    const json = { version: catalog.version, ...catalogModelList(catalog) }
    return { json, text: models.map(modelLine).join('\n') || 'The catalog is empty.', ok: true }
  }
  const model = findModel(catalog, id)
  if (!model) throw new Error(`There is no model ${JSON.stringify(id)} in the catalog.`)
  const json = catalogModel(model)
  return { json, text: JSON.stringify(json, null, 2), ok: true }
}

const ID_COLUMN = 48

const modelLine = (model: Model): string =>
  `${model.id.padEnd(ID_COLUMN)} ${formatRate(model.rate.prompt)} / ${formatRate(model.rate.completion)} USD per million tokens, ` +
  `${model.contextLength} tokens, at ${model.offers.map((offer) => offer.provider.id).join(', ')}`

async function sync(catalog: CatalogSnapshot): Promise<Report> {
  const listings = await compareListings(catalog, process.env)
  return {
    json: { providers: listings },
    text: listings.map(listingLine).join('\n') || 'No provider is enabled.',
    ok: listings.every((listing) => listing.kind === 'compared'),
  }
}

function listingLine(listing: ListingComparison): string {
  if (listing.kind === 'failed') return `${listing.provider}: failed: ${listing.reason}`
  const changes = [
    ...listing.disappeared.map((model) => `  - ${model}`),
    ...listing.appeared.map((model) => `  + ${model}`),
  ]
  return [`${listing.provider}: lists ${listing.listed} models`, ...changes].join('\n')
}

async function main(): Promise<void> {
  const asJson = process.argv.includes('--json')
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        json: { type: 'boolean' },
        all: { type: 'boolean', default: false },
        check: { type: 'boolean', default: false },
      },
    })
    const report = await run(positionals, values)
    print(asJson ? JSON.stringify(report.json) : report.text)
    if (!report.ok) process.exitCode = 1
  } catch (error) {
    const { message } = error as Error
    print(asJson ? JSON.stringify({ error: message }) : message)
    process.exitCode = 1
  }
}

const print = (text: string) => process.stdout.write(`${text}\n`)

await main()
