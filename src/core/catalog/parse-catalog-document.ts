import { Ajv, type ErrorObject } from 'ajv'
import { AUTH_HEADERS, FIELD_OF_KIND } from './catalog.ts'
import {
  CATALOG_DOCUMENT_SCHEMA,
  type CatalogDocument,
  type DocumentChanges,
  type DocumentModel,
  type DocumentPrices,
  type DocumentProvider,
} from './catalog-document.ts'
import { credentialsProblems } from './credentials-document.ts'
import { isPlatformKeyVariable } from './platform-key-variables.ts'
import { rateProblems } from './rate-ceiling.ts'

export type ParsedDocument =
  | { kind: 'document'; document: CatalogDocument }
  | { kind: 'problems'; problems: string[] }

// Every process reads the catalog when it starts: optimizing the validator takes longer than it saves.
const validate = new Ajv({
  allErrors: true,
  strict: true,
  allowUnionTypes: true,
  code: { optimize: false },
}).compile<CatalogDocument>(CATALOG_DOCUMENT_SCHEMA)

/**
 * Checks a document against its schema and for duplicates within itself. References to providers are
 * checked later, when all documents are known.
 */
export function parseCatalogDocument(content: unknown): ParsedDocument {
  if (!validate(content)) {
    const problems = [...new Set((validate.errors ?? []).map(describeError))]
    return { kind: 'problems', problems }
  }
  const problems = [
    ...(content.dated !== undefined && Number.isNaN(Date.parse(content.dated)) ? ['dated: is no day'] : []),
    ...(content.providers ?? []).flatMap((provider, index) => [
      ...providerProblems(provider).map((problem) => `providers[${index}].${problem}`),
      ...Object.keys(provider.quirks?.headers ?? {})
        .filter((name) => OWN_HEADERS.has(name.toLowerCase()))
        .map((name) => `providers[${index}].quirks.headers.${name}: the gateway sets this header itself`),
    ]),
    ...reservedKeyNames(content.providers ?? []),
    ...duplicates(content.providers ?? [], ({ id }) => id, 'providers', 'provider id'),
    ...duplicates(content.models ?? [], ({ id }) => id, 'models', 'model id'),
    ...duplicates(content.aliases ?? [], ({ id }) => id, 'aliases', 'alias'),
    ...duplicateChanges(content.changes ?? {}),
    ...tooHighRates(content.models ?? [], 'models'),
    ...tooHighRates(content.changes?.models ?? [], 'changes.models'),
    ...(content.models ?? []).flatMap((model, index) =>
      taskProblems(model).map((problem) => `models[${index}].${problem}`),
    ),
    ...(content.models ?? []).flatMap((model, index) =>
      duplicates(
        model.offers,
        (offer) => `${offer.provider}/${offer.upstream_model}`,
        `models[${index}].offers`,
        'offer',
      ),
    ),
  ]
  return problems.length > 0 ? { kind: 'problems', problems } : { kind: 'document', document: content }
}

function providerProblems(provider: DocumentProvider): string[] {
  const ofAddress = addressProblem(provider.base_url).map((problem) => `base_url: ${problem}`)
  return ofAddress.length > 0 ? ofAddress : credentialsProblems(provider)
}

const reservedKeyNames = (providers: readonly DocumentProvider[]) =>
  providers.flatMap(({ api_key_env: name }, index) =>
    name == null || isPlatformKeyVariable(name)
      ? []
      : [
          `providers[${index}].api_key_env: must end in KEY or TOKEN, and be no variable of the gateway itself`,
        ],
  )

/** The additional requirements of a model of a kind other than chat. */
const taskProblems = (model: DocumentModel): string[] => {
  const { kind = 'chat', unit, least_units: leastUnits, list_price: list } = model
  const needed = FIELD_OF_KIND[kind]
  return [
    ...(needed !== undefined && model[needed] === undefined ? [`${needed}: required for ${kind}`] : []),
    ...(list.units !== undefined && unit === undefined ? ['unit: required beside a price of units'] : []),
    ...(leastUnits !== undefined && unit === undefined ? ['unit: required beside least_units'] : []),
  ]
}

/** Rates that share a document with their list price; otherwise the ceiling is applied when the catalog is built. */
const tooHighRates = (
  models: ReadonlyArray<Pick<DocumentModel, 'rate'> & { list_price?: DocumentPrices }>,
  path: string,
) =>
  models.flatMap(({ rate, list_price: listPrice }, index) =>
    rate && listPrice ? rateProblems(rate, listPrice).map((problem) => `${path}[${index}].${problem}`) : [],
  )

/** A second key beside a BYOK key would make the provider bill the wrong account; the others break the request. */
const OWN_HEADERS = new Set<string>([
  ...AUTH_HEADERS,
  'accept',
  'accept-encoding',
  'anthropic-version',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** Problems of a provider's base URL, to which paths are appended; the URL itself may contain a secret. */
function addressProblem(baseUrl: string): string[] {
  if (!URL.canParse(baseUrl)) return ['is not a URL']
  const { username, password, search, hash } = new URL(baseUrl)
  if (username !== '' || password !== '') return ['holds a user or password; keys come from the environment']
  return search !== '' || hash !== '' || /[?#]$/.test(baseUrl)
    ? ['must have no ? or #; a query goes into quirks.path']
    : []
}

const duplicateChanges = ({ providers = [], models = [], offers = [] }: DocumentChanges): string[] => [
  ...duplicates(providers, ({ id }) => id, 'changes.providers', 'provider id'),
  ...duplicates(models, ({ id }) => id, 'changes.models', 'model id'),
  ...duplicates(offers, (offer) => `${offer.provider}/${offer.upstream_model}`, 'changes.offers', 'offer'),
]

function duplicates<T>(
  entries: readonly T[],
  key: (entry: T) => string,
  path: string,
  what: string,
): string[] {
  const seen = new Map<string, number>()
  return entries.flatMap((entry, index) => {
    const id = key(entry)
    const first = seen.get(id)
    if (first === undefined) {
      seen.set(id, index)
      return []
    }
    return [`${path}[${index}]: the ${what} ${JSON.stringify(id)} is there already, at ${path}[${first}]`]
  })
}

function describeError(error: ErrorObject): string {
  const path = readablePath(error.instancePath)
  switch (error.keyword) {
    case 'additionalProperties':
      return `${joined(path, error.params.additionalProperty)}: unknown field`
    case 'required':
      return `${joined(path, error.params.missingProperty)}: required`
    case 'enum':
      return `${path}: must be one of ${error.params.allowedValues.join(', ')}`
    case 'pattern':
      return `${path}: ${PATTERN_HINTS[lastName(path)] ?? `must match ${error.params.pattern}`}`
    case 'not':
      return `${path}: this id is reserved`
    default:
      return `${path || 'the document'}: ${error.message ?? error.keyword}`
  }
}

const PRICE_HINT = 'must be a decimal string of at most six decimals, such as "2.50"'
const PATTERN_HINTS: Record<string, string> = {
  prompt: PRICE_HINT,
  completion: PRICE_HINT,
  prompt_audio: PRICE_HINT,
  prompt_image: PRICE_HINT,
  cache_read: PRICE_HINT,
  cache_write: PRICE_HINT,
  cache_write_hour: PRICE_HINT,
  units: PRICE_HINT,
  web_search: PRICE_HINT,
  code_execution: PRICE_HINT,
  base_url: 'must be an http or https address',
  api_key_env: 'must be the name of an environment variable, such as ACME_API_KEY',
  dated: 'must be a day, such as 2026-01-31',
  id: 'must begin with a letter or digit and hold only letters, digits and ._-/@+ (providers: lowercase, no slash)',
}

/** `/models/0/list_price` as `models[0].list_price`. */
function readablePath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce((path, part) => (/^\d+$/.test(part) ? `${path}[${part}]` : joined(path, part)), '')
}

const joined = (path: string, name: string): string => (path ? `${path}.${name}` : name)

const lastName = (path: string): string => path.slice(path.lastIndexOf('.') + 1)
