/**
 * The operator's catalog commands:
 *
 *   import FILE [--check]   checks a catalog file and puts it in CATALOG_FILE's place
 *   show [ID] [--all]       the catalog in use, or one model of it; --all also without their keys
 *   sync                    asks every provider for its models and prints what appeared and disappeared
 *   check PROVIDER [--model M]   calls a provider with the operator's key for at most a cent, feature by feature
 *   refresh [--apply]       what public lists state otherwise than the catalog; --apply makes it the operator's edits, and
 *                           with --builtin the built-in catalog
 *   apply FILE              makes a document the operator's edits: over everything else, in the whole fleet
 *   edits                   every version of those edits
 *   revert VERSION          makes an earlier version of them hold again
 *   history MODEL           the rates a model had
 *
 * Each prints JSON with --json and exits non-zero on failure.
 */
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { checkCatalog } from '../catalog/catalog-check.ts'
import { installCatalogFile, readCatalogFile, readShippedCatalogs } from '../catalog/catalog-file.ts'
import { type CatalogOverlay, readOverlay } from '../catalog/catalog-overlay.ts'
import { catalogModel, catalogModelList } from '../catalog/model-list.ts'
import { type Config, readConfig, UNUSED_SERVICES } from '../config.ts'
import { type CatalogSnapshot, findModel, isAvailable, type Model } from '../core/catalog/catalog.ts'
import { rateOf } from '../core/catalog/token-rates.ts'
import { formatRate } from '../core/kernel/money.ts'
import { createRedis } from '../platform/redis/redis.ts'
import { compareListings, type ListingComparison } from '../providers/listings/compare-listings.ts'
import {
  applyEdits,
  invalidDocument,
  listEdits,
  openCatalog,
  recordAction,
  revertEdits,
  showRateHistory,
} from './catalog-edits.ts'
import { refresh } from './catalog-refresh.ts'
import { checkCommand } from './check-provider.ts'
import { type CommandOutput, runAsProcess, UsageError } from './run-command.ts'

const USAGE = `usage: catalog import FILE [--check] [--json]
       catalog show [ID] [--all] [--json]
       catalog sync [--json]
       catalog check PROVIDER [--model MODEL] [--json]
       catalog refresh [--models-dev FILE|URL] [--litellm FILE|URL] [--openrouter FILE|URL] [--apply] [--builtin] [--json]
       catalog apply FILE | edits | revert VERSION [--json]
       catalog history MODEL [--json]`

const OPTIONS = {
  json: { type: 'boolean', default: false },
  all: { type: 'boolean', default: false },
  check: { type: 'boolean', default: false },
  apply: { type: 'boolean', default: false },
  builtin: { type: 'boolean', default: false },
  model: { type: 'string' },
  'models-dev': { type: 'string' },
  litellm: { type: 'string' },
  openrouter: { type: 'string' },
} as const

export async function catalog(args: string[], environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const { values: flags, positionals } = parseArgs({ args, allowPositionals: true, options: OPTIONS })
  const [command, argument, ...rest] = positionals
  if (rest.length > 0) throw new UsageError(USAGE)
  // npm runs scripts in the project's folder; paths are relative to the caller's.
  const pathOf = (file: string | undefined) => resolve(environment.INIT_CWD ?? '', required(file))
  switch (command) {
    case 'import':
      return importFile(pathOf(argument), environment, flags.check)
    case 'show':
      return show(argument, await loadSnapshot(environment), flags.all)
    case 'sync':
      if (argument !== undefined) throw new UsageError(USAGE)
      return sync(await loadCatalog(environment))
    case 'check': {
      const { snapshot, platformKeys } = await loadCatalog(environment)
      return checkCommand({
        catalog: snapshot,
        keyOf: ({ provider }) => platformKeys.find(provider)?.secret,
        provider: required(argument),
        model: flags.model,
        folder: resolve(environment.INIT_CWD ?? '', catalogConfig(environment).dataDir, 'provider-checks'),
        record: (action) => recordAction(action, environment),
      })
    }
    case 'refresh': {
      if (argument !== undefined) throw new UsageError(USAGE)
      const { 'models-dev': modelsDev, litellm, openrouter, apply, builtin } = flags
      const sources = { 'models.dev': modelsDev, litellm, openrouter }
      return refresh({ sources, apply, builtin }, environment)
    }
    case 'apply':
      return applyEdits(pathOf(argument), environment)
    case 'edits':
      return listEdits(environment)
    case 'revert':
      return revertEdits(required(argument), environment)
    case 'history':
      return showRateHistory(required(argument), environment)
    default:
      throw new UsageError(USAGE)
  }
}

function required(argument: string | undefined): string {
  if (argument === undefined) throw new UsageError(USAGE)
  return argument
}

/** The settings of the catalog. They do not need a database, so placeholders fill the required settings of others. */
function catalogConfig(environment: NodeJS.ProcessEnv): Config {
  return readConfig({ ...UNUSED_SERVICES, ...environment })
}

async function importFile(
  path: string,
  environment: NodeJS.ProcessEnv,
  checkOnly: boolean,
): Promise<CommandOutput> {
  const config = catalogConfig(environment)
  const { catalogFile } = config
  const source = await readCatalogFile(path)
  const shipped = await readShippedCatalogs(config.simulatedProvidersUrl)
  const options = { ...config, generatedAt: Math.floor(Date.now() / 1000) }
  const checked = checkCatalog(shipped, source, options, 'any')
  if (checked.kind === 'problems') return invalidDocument('file', 'Not imported', checked.problems)
  const summary = {
    file: path,
    version: checked.snapshot.version,
    models: checked.snapshot.models.size,
    keys_missing: missingKeys(checked.snapshot, environment),
  }
  const warning =
    summary.keys_missing.length > 0 ? ` Keys not set here: ${summary.keys_missing.join(', ')}.` : ''
  if (checkOnly) {
    const text = `${path} is valid: the catalog would hold ${summary.models} models.${warning}`
    return { data: { ...summary, installed: null }, text }
  }
  if (catalogFile === null) {
    throw new Error(
      `${path} is valid, but CATALOG_FILE is not set, so there is no place to put it. Set it, or use --check.`,
    )
  }
  await installCatalogFile(source.content, catalogFile)
  const text = `${path} is now ${catalogFile}: the catalog holds ${summary.models} models.${warning}`
  return { data: { ...summary, installed: catalogFile }, text }
}

function missingKeys(catalog: CatalogSnapshot, environment: NodeJS.ProcessEnv): string[] {
  const names = [...catalog.offers.values()].flatMap(({ provider }) => provider.apiKeyEnv ?? [])
  return [...new Set(names)].filter((name) => !environment[name]).sort()
}

/** The catalog of this environment, with the fleet's overlay if REDIS_URL is set. */
export const loadSnapshot = async (environment: NodeJS.ProcessEnv): Promise<CatalogSnapshot> =>
  (await loadCatalog(environment)).snapshot

/** Also returns the platform keys that it was built with. */
async function loadCatalog(environment: NodeJS.ProcessEnv) {
  const config = catalogConfig(environment)
  const toStderr = ({ err }: { err: unknown }, message: string) => {
    process.stderr.write(`${message}: ${(err as Error).message}\n`)
  }
  const logger = { info: () => undefined, warn: toStderr, error: toStderr }
  const overlay = environment.REDIS_URL ? await readSharedOverlay(config, toStderr) : null
  const { catalog, platformKeys } = await openCatalog(config, environment, overlay, logger)
  return { snapshot: catalog.snapshot(), platformKeys }
}

/** The fleet's overlay of the catalog; null, with a warning, if Redis is unavailable. */
async function readSharedOverlay(
  { redisUrl }: Config,
  warn: (fields: { err: unknown }, message: string) => void,
): Promise<CatalogOverlay | null> {
  const redis = createRedis({ url: redisUrl, name: 'shuntyard-catalog', mode: 'fail-fast' })
  try {
    return await readOverlay(redis)
  } catch (error) {
    warn({ err: error }, 'Redis cannot be asked, so this is without the edits of operators')
    return null
  } finally {
    redis.disconnect()
  }
}

function show(id: string | undefined, catalog: CatalogSnapshot, all: boolean): CommandOutput {
  if (id === undefined) {
    const models = [...catalog.models.values()].filter((model) => all || isAvailable(model))
    const data = { version: catalog.version, ...catalogModelList(models) }
    return { data, text: models.map(modelLine).join('\n') || 'The catalog is empty.' }
  }
  const model = findModel(catalog, id)
  if (!model) throw new Error(`There is no model ${JSON.stringify(id)} in the catalog.`)
  const data = catalogModel(model)
  return { data, text: JSON.stringify(data, null, 2) }
}

const ID_COLUMN = 48

const modelLine = (model: Model): string =>
  `${model.id.padEnd(ID_COLUMN)} ${formatRate(model.rate.prompt)} / ${formatRate(model.rate.completion)} USD per million tokens, ` +
  `${model.unit ? `${formatRate(rateOf(model.rate, 'units'))} per million units (${model.unit}), ` : ''}` +
  `${model.contextLength} tokens, at ${model.offers.map((offer) => offer.provider.id).join(', ')}`

async function sync({
  snapshot,
  platformKeys,
}: Awaited<ReturnType<typeof loadCatalog>>): Promise<CommandOutput> {
  const listings = await compareListings(snapshot, (provider) => platformKeys.find(provider)?.secret)
  return {
    data: { providers: listings },
    text: listings.map(listingLine).join('\n') || 'No provider is enabled.',
    failed: listings.some((listing) => listing.kind === 'failed'),
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

if (import.meta.main) await runAsProcess(catalog)
