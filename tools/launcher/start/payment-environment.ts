import { isLoopback } from '../../../src/core/billing/development-rail-refusal.ts'

type Environment = Record<string, string | undefined>

const RAIL_KEYS = ['STRIPE_SECRET_KEY', 'PAYPAL_CLIENT_ID']

export const hasRailKeys = (environment: Environment): boolean => RAIL_KEYS.some((name) => environment[name])

/**
 * While no payment keys are set, top-ups of the all-in-one start settle on the development rail, which says so
 * in every answer. Never where the environment speaks of production, or has decided by itself, nor where others can
 * reach a gateway with providers that are not simulated.
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
