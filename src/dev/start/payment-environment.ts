type Environment = Record<string, string | undefined>

const RAIL_KEYS = ['STRIPE_SECRET_KEY', 'PAYPAL_CLIENT_ID']

/**
 * While no payment keys are set, top-ups of the all-in-one start settle on the development rail, which says so
 * in every answer. Never where the environment speaks of production, or has decided by itself.
 */
export function paymentEnvironment(environment: Environment): Record<string, string> {
  const { PAYMENTS_DEVELOPMENT_RAIL: decided, NODE_ENV: stage } = environment
  if (decided) return { PAYMENTS_DEVELOPMENT_RAIL: decided }
  if (stage === 'production' || RAIL_KEYS.some((name) => environment[name])) return {}
  return { PAYMENTS_DEVELOPMENT_RAIL: 'true' }
}
