import { parseUsd } from '../kernel/money.ts'

export interface StripeSettings {
  apiBase: string
  secretKey: string
  webhookSecret: string
}

export interface PaypalSettings {
  apiBase: string
  clientId: string
  clientSecret: string
  webhookId: string
}

export interface PaymentSettings {
  stripe: StripeSettings | null
  paypal: PaypalSettings | null
  /** A simulated rail that settles every top-up at once, for trials. No money moves. */
  paymentsDevelopmentRail: boolean
  topUpMinUsd: string
  topUpMaxUsd: string
}

export type Environment = Record<string, string | undefined>

const STRIPE_API = 'https://api.stripe.com'
const PAYPAL_API = 'https://api-m.paypal.com'
/** Secret and restricted keys of Stripe that move real money. */
const STRIPE_LIVE_KEY = /^[a-z]+_live_/

/**
 * Reads the payment rails. A rail is configured completely or not at all. The development rail gives away balance, so
 * it must be enabled explicitly and is rejected in combination with real money. Adds to `problems`.
 */
export function readPaymentSettings(environment: Environment, problems: string[]): PaymentSettings {
  const stripe = readAll(environment, ['STRIPE_SECRET_KEY', 'STRIPE_WEBHOOK_SECRET'], problems)
  const paypal = readAll(
    environment,
    ['PAYPAL_CLIENT_ID', 'PAYPAL_CLIENT_SECRET', 'PAYPAL_WEBHOOK_ID'],
    problems,
  )
  const paypalApi = readBase(environment, 'PAYPAL_API_BASE', PAYPAL_API, problems)
  const settings: PaymentSettings = {
    stripe: stripe && {
      apiBase: readBase(environment, 'STRIPE_API_BASE', STRIPE_API, problems),
      secretKey: stripe.STRIPE_SECRET_KEY,
      webhookSecret: stripe.STRIPE_WEBHOOK_SECRET,
    },
    paypal: paypal && {
      apiBase: paypalApi,
      clientId: paypal.PAYPAL_CLIENT_ID,
      clientSecret: paypal.PAYPAL_CLIENT_SECRET,
      webhookId: paypal.PAYPAL_WEBHOOK_ID,
    },
    paymentsDevelopmentRail: readSwitch(environment, 'PAYMENTS_DEVELOPMENT_RAIL', problems),
    topUpMinUsd: environment.TOP_UP_MIN_USD || '5',
    topUpMaxUsd: environment.TOP_UP_MAX_USD || '10000',
  }
  if (settings.paymentsDevelopmentRail) refuseBesideRealMoney(environment, settings, problems)
  checkLimits(settings, problems)
  return settings
}

function refuseBesideRealMoney(
  environment: Environment,
  { stripe, paypal }: PaymentSettings,
  problems: string[],
): void {
  const refuse = (where: string) =>
    problems.push(`PAYMENTS_DEVELOPMENT_RAIL gives away balance: not ${where}`)
  if (environment.NODE_ENV === 'production') refuse('with NODE_ENV=production')
  if (STRIPE_LIVE_KEY.test(stripe?.secretKey ?? '')) refuse('beside a live key of Stripe')
  if (paypal?.apiBase === PAYPAL_API) refuse("beside PayPal's live API")
}

function checkLimits({ topUpMinUsd, topUpMaxUsd }: PaymentSettings, problems: string[]): void {
  try {
    const minPico = parseUsd(topUpMinUsd)
    if (minPico > 0n && minPico <= parseUsd(topUpMaxUsd)) return
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
  }
  problems.push(
    'TOP_UP_MIN_USD and TOP_UP_MAX_USD must be amounts above zero, the first not above the second',
  )
}

/** The values of all variables, or null when none is set. */
export function readAll<Name extends string>(
  environment: Environment,
  names: readonly Name[],
  problems: string[],
): Record<Name, string> | null {
  const missing = names.filter((name) => !environment[name])
  if (missing.length === names.length) return null
  if (missing.length > 0) problems.push(`${names.join(', ')} go together: ${missing.join(', ')} is missing`)
  return Object.fromEntries(names.map((name) => [name, environment[name] ?? ''])) as Record<Name, string>
}

export function readBase(
  environment: Environment,
  name: string,
  fallback: string,
  problems: string[],
): string {
  const text = (environment[name] || fallback).replace(/\/+$/, '')
  const protocol = URL.canParse(text) ? new URL(text).protocol : null
  if (protocol !== 'https:' && protocol !== 'http:') problems.push(`${name} must be an http or https address`)
  return text
}

function readSwitch(environment: Environment, name: string, problems: string[]): boolean {
  const value = environment[name] || 'false'
  if (value !== 'true' && value !== 'false') problems.push(`${name} must be true or false`)
  return value === 'true'
}
