import { oncePer } from '../kernel/once-per.ts'
import type { CatalogSnapshot, Provider } from './catalog.ts'

/** The gateway's own variables with names like a provider's key, and those of its S3 and trace clients. */
const RESERVED = /^(?:MASTER_KEY|STRIPE_|PAYPAL_|SMTP_|BODY_BYTES_|AWS_|OTEL_)/
const KEY_NAME = /(?:^|_)(?:KEY|TOKEN)$/

/**
 * Whether a variable may contain a provider's key: its value is sent to the address in the catalog,
 * so variables of the gateway's own configuration are excluded.
 */
export const isPlatformKeyVariable = (name: string): boolean => KEY_NAME.test(name) && !RESERVED.test(name)

/**
 * Problems with the keys of an edited catalog: an edit may send a key only to the origin specified in the
 * shipped catalog or the operator's file, or name a variable that the operator declared for edits. Otherwise
 * a catalog editor could redirect every key to an address of their own.
 */
export function keyAddressProblems(
  before: CatalogSnapshot,
  after: CatalogSnapshot,
  declaredNames: readonly string[],
): string[] {
  const known = new Set([...providersOf(before)].flatMap(keyAddress))
  const problems = [...providersOf(after)].flatMap((provider) =>
    keyAddress(provider)
      .filter((address) => !known.has(address) && !declaredNames.includes(provider.apiKeyEnv ?? ''))
      .map(
        (address) =>
          `provider ${provider.id}: an edit may not send ${address}. Name the provider in CATALOG_FILE, or the variable in CATALOG_KEY_NAMES`,
      ),
  )
  return [...new Set(problems)]
}

function* providersOf(catalog: CatalogSnapshot): Iterable<Provider> {
  for (const { provider } of catalog.offers.values()) yield provider
  for (const { withdrawn } of catalog.models.values())
    for (const { offer } of withdrawn ?? []) yield offer.provider
}

/** Without a key a provider with credentials gets the identity of the machine, which is worth as much. */
function keyAddress(provider: Provider): string[] {
  const { apiKeyEnv, credentials } = provider
  if (apiKeyEnv === null && !credentials) return []
  const what = apiKeyEnv ?? `the machine's identity (${credentials?.kind})`
  return keyOrigins(provider).map((origin) => `${what} to ${origin}`)
}

type Addresses = Pick<Provider, 'baseUrl' | 'quirks' | 'credentials'>

/** The origins that receive a provider's key, sorted: of its base URL, its task URLs and where it is exchanged. */
export const keyOrigins = oncePer(({ baseUrl, quirks, credentials }: Addresses): string[] => {
  const { tokenUrl } = credentials ?? {}
  const urls = [
    baseUrl,
    ...Object.values(quirks?.taskUrls ?? {}),
    ...(tokenUrl === undefined ? [] : [tokenUrl]),
  ]
  return [...new Set(urls.map((url) => new URL(url).origin))].sort()
})
