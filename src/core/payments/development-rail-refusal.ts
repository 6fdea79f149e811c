import { findRealOffer } from '../catalog/answers-source.ts'
import type { CatalogSnapshot } from '../catalog/catalog.ts'

/** Where a gateway listens, and where its simulated providers are. */
export interface GatewayExposure {
  host: string
  simulatedProvidersUrl: string | null
}

/**
 * Why the development rail must not be offered here, or null where it may be. It gives balance away, and a balance
 * buys answers of whatever providers are set up; so it is for gateways that only this machine can reach, and for
 * those whose answers are all made up.
 */
export function developmentRailRefusal(
  { host, simulatedProvidersUrl }: GatewayExposure,
  catalog: Pick<CatalogSnapshot, 'offers'>,
): string | null {
  if (isLoopback(host)) return null
  const real = findRealOffer(catalog, simulatedProvidersUrl)
  return real === undefined
    ? null
    : `PAYMENTS_DEVELOPMENT_RAIL gives away balance: not with HOST=${host} and a provider that is not simulated (${real.provider.id})`
}

/** Whether only this machine reaches what listens on a host. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.')
