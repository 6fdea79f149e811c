import type { CatalogSnapshot } from '../catalog/catalog.ts'
import { findRealOffer } from '../catalog/completions-source.ts'

/** Where a gateway listens, and its simulated providers. */
export interface GatewayExposure {
  host: string
  simulatedProvidersUrl: string | null
}

/**
 * Why the development rail must not be offered, or null if it may. It gives balance away, which buys completions of all
 * configured providers. So it is restricted to gateways that only this machine can reach, and to those with simulated
 * providers only.
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

/** Whether a host is reachable from this machine only. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '::1' || host.startsWith('127.')
