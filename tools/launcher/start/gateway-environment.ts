import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readCatalogFile, readShippedCatalogs } from '../../../src/catalog/catalog-file.ts'
import { type Config, readConfig, UNUSED_SERVICES } from '../../../src/config.ts'
import type { CatalogDocument } from '../../../src/core/catalog/catalog-document.ts'
import { buildCatalogSnapshot } from '../../../src/core/catalog/catalog-snapshot.ts'
import { StartError } from '../../../src/core/kernel/errors.ts'
import { isLoopback } from '../../../src/core/payments/development-rail-refusal.ts'

type Environment = Record<string, string | undefined>

const SIMULATED_PROVIDERS_URL = 'http://127.0.0.1:1'

/**
 * Checks what the processes will be started with, before anything is: the environment and the catalog file. What
 * it does not name, `npm start` brings along. Throws StartError.
 */
export async function checkSettings(environment: Environment): Promise<void> {
  const given = Object.entries(environment).filter(([, value]) => value)
  const config = readConfig({ ...UNUSED_SERVICES, ...Object.fromEntries(given) })
  if (config.catalogFile !== null) await checkCatalog(config, config.catalogFile)
}

async function checkCatalog(config: Config, path: string): Promise<void> {
  const sources = [...(await readShippedCatalogs(SIMULATED_PROVIDERS_URL)), await readCatalogFile(path)]
  const result = buildCatalogSnapshot(sources, { ...config, generatedAt: 0, isUsable: () => true })
  if (result.kind === 'problems')
    throw new StartError(`the catalog is not valid:\n  ${result.problems.join('\n  ')}`)
}

/** The key that seals job bodies and provider keys: made on the first start, kept beside the data it opens. */
export function ensureMasterKey(dataDir: string, environment: Environment): string {
  if (environment.MASTER_KEY) return environment.MASTER_KEY
  const path = join(dataDir, 'master-key')
  if (existsSync(path)) return readFileSync(path, 'utf8').trim()
  const key = randomBytes(32).toString('base64')
  writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx' })
  return key
}

const USUAL_ADDRESS = 'http://127.0.0.1:11434'
const TIMEOUT_MS = 400

/** The address of an Ollama on this machine, if one responds at its usual port. */
export async function findOllama(environment: Environment): Promise<string | null> {
  if (environment.OLLAMA_URL) return environment.OLLAMA_URL
  try {
    const response = await fetch(`${USUAL_ADDRESS}/api/version`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    await response.body?.cancel()
    return response.ok ? USUAL_ADDRESS : null
  } catch {
    // Most machines have none.
    return null
  }
}

/** Without a mail server, messages are written to a folder. */
export const mailEnvironment = (dataDir: string, { SMTP_URL, MAIL_FOLDER }: Environment): Environment =>
  SMTP_URL ? {} : { MAIL_FOLDER: MAIL_FOLDER || join(dataDir, 'mail') }

const RAIL_KEYS = ['STRIPE_SECRET_KEY', 'PAYPAL_CLIENT_ID']

export const hasRailKeys = (environment: Environment): boolean => RAIL_KEYS.some((name) => environment[name])

/**
 * While no payment keys are set, top-ups of the all-in-one start settle on the development rail, which every response
 * states. Not in production, not where the environment sets it, and not where others can reach a gateway with real
 * providers.
 */
export function paymentEnvironment(
  environment: Environment,
  { host, onlySimulated }: { host: string; onlySimulated: boolean },
): Record<string, string> {
  const { PAYMENTS_DEVELOPMENT_RAIL: decided, NODE_ENV: stage } = environment
  if (decided) return { PAYMENTS_DEVELOPMENT_RAIL: decided }
  if (stage === 'production' || hasRailKeys(environment)) return {}
  return isLoopback(host) || onlySimulated ? { PAYMENTS_DEVELOPMENT_RAIL: 'true' } : {}
}

/** Invoices of an example issuer, marked as tests, for trying the gateway out. None where the environment names an issuer. */
export function invoiceEnvironment(environment: Environment, rails: Environment): Environment {
  if (environment.INVOICE_ISSUER_NAME || rails.PAYMENTS_DEVELOPMENT_RAIL !== 'true') return {}
  return {
    INVOICE_ISSUER_NAME: 'Example Gateway Ltd',
    INVOICE_ISSUER_ADDRESS: '1 Example Street | Example City',
    INVOICE_TAX_NOTE: 'An example: set INVOICE_ISSUER_NAME and INVOICE_ISSUER_ADDRESS to your company.',
  }
}

const BUILT_IN = new URL('../../../src/catalog/data/builtin.json', import.meta.url)

/**
 * While no provider's key is set, the simulated providers serve every model, so that a newcomer can call
 * any of them. Not beside an operator's own catalog that replaces the built-in one, nor where the environment
 * has decided by itself.
 */
export function simulateAllEnvironment(root: string, environment: Environment): Record<string, string> {
  if (environment.SIMULATE_ALL) return { SIMULATE_ALL: environment.SIMULATE_ALL }
  const isReplaced = readDocuments(root, environment).some(({ replace }) => replace)
  return isReplaced || keyedProviders(root, environment).length > 0 ? {} : { SIMULATE_ALL: 'true' }
}

/** The ids of the providers whose key the environment has. */
export function keyedProviders(root: string, environment: Environment): string[] {
  const providers = readDocuments(root, environment).flatMap(({ providers = [] }) => providers)
  const keyed = providers.filter(({ api_key_env: name }) => name && environment[name])
  return [...new Set(keyed.map(({ id }) => id))]
}

function readDocuments(root: string, { CATALOG_FILE: file }: Environment): CatalogDocument[] {
  return [readDocument(BUILT_IN), ...(file ? [readDocument(resolve(root, file))] : [])]
}

/** A file that cannot be read is reported by the gateway, which reads it again. */
function readDocument(path: string | URL): CatalogDocument {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as CatalogDocument
  } catch {
    return {}
  }
}
