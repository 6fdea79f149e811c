import { type Environment, readAll, readBase } from './payment-settings.ts'

/** Settings of payments for single calls without a key. */
export interface CallPaymentSettings {
  /** The facilitator that verifies and settles. */
  facilitatorUrl: string
  /** Its `Authorization` header; null: none. */
  facilitatorAuthorization: string | null
  /** CAIP-2, `eip155:8453`. */
  network: `eip155:${string}`
  /** The contract of a token with six decimals that is worth a dollar. */
  asset: string
  /** Its EIP-712 domain. */
  assetName: string
  assetVersion: string
  /** The receiving wallet. */
  payTo: string
}

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const NETWORK = /^eip155:\d{1,12}$/

/** Reads the settings of per-call payment; null when none is set. Adds to `problems`. */
export function readCallPaymentSettings(
  environment: Environment,
  problems: string[],
): CallPaymentSettings | null {
  const names = ['X402_FACILITATOR_URL', 'X402_NETWORK', 'X402_ASSET', 'X402_PAY_TO'] as const
  const given = readAll(environment, names, problems)
  if (given === null) return null
  const address = (name: 'X402_ASSET' | 'X402_PAY_TO') => {
    if (given[name] && !ADDRESS.test(given[name]))
      problems.push(`${name} must be an address: 0x and 40 hexadecimal digits`)
    return given[name]
  }
  if (!NETWORK.test(given.X402_NETWORK)) problems.push('X402_NETWORK must be eip155: and the id of a chain')
  return {
    facilitatorUrl: readBase(environment, 'X402_FACILITATOR_URL', '', problems),
    facilitatorAuthorization: environment.X402_FACILITATOR_AUTHORIZATION || null,
    network: given.X402_NETWORK as CallPaymentSettings['network'],
    asset: address('X402_ASSET'),
    assetName: environment.X402_ASSET_NAME || 'USD Coin',
    assetVersion: environment.X402_ASSET_VERSION || '2',
    payTo: address('X402_PAY_TO'),
  }
}
