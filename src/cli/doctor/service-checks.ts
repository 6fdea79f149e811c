import pino from 'pino'
import { readOverlay } from '../../catalog/catalog-overlay.ts'
import { testPlatformKeys } from '../../catalog/check-platform-keys.ts'
import { createPaypalClient } from '../../payments/paypal-client.ts'
import { verifyMailServer } from '../../platform/network/mailer.ts'
import { openCatalog } from '../catalog-edits.ts'
import {
  type Check,
  type Finding,
  findings,
  ok,
  REQUEST_WITHIN_MS,
  reasonOf,
  warning,
  wrong,
} from './check.ts'

/** Services of others: mail, payments and providers. Each is asked for what costs nothing. */
export const SERVICE_CHECKS: Check[] = [
  {
    name: 'mail',
    async run({ config: { mail, publicUrl, signUpClosed } }) {
      if (mail?.transport.kind === 'smtp') {
        try {
          await verifyMailServer(mail.transport.url)
        } catch (error) {
          return [
            wrong(
              `the server of SMTP_URL does not take mail: ${reasonOf(error)}`,
              'addresses cannot be verified, nor passwords reset',
              'correct SMTP_URL',
            ),
          ]
        }
        return [ok('the server of SMTP_URL accepts the sign-in')]
      }
      return findings(
        [
          publicUrl !== null &&
            !signUpClosed &&
            warning(
              'SMTP_URL is not set, and sign-up is open',
              'addresses are not verified, so free credit is bounded by address limits alone',
              'SMTP_URL=smtp://… MAIL_FROM=…, or SIGN_UP_CLOSED=true',
            ),
        ],
        mail === null ? 'none is set' : `mail is written to ${mail.transport.path}`,
      )
    },
  },
  {
    name: 'payments',
    async run({ config: { stripe, paypal, callPayment, paymentsDevelopmentRail, publicUrl } }) {
      const rails = [
        stripe &&
          answerOf(
            'Stripe',
            'STRIPE_SECRET_KEY',
            `${stripe.apiBase}/v1/balance`,
            `Bearer ${stripe.secretKey}`,
          ),
        paypal &&
          attempt('PayPal', 'PAYPAL_CLIENT_ID, PAYPAL_CLIENT_SECRET and PAYPAL_WEBHOOK_ID', () =>
            createPaypalClient(paypal, { timeoutMs: REQUEST_WITHIN_MS }).get(
              `/v1/notifications/webhooks/${encodeURIComponent(paypal.webhookId)}`,
            ),
          ),
        callPayment &&
          answerOf(
            'the x402 facilitator',
            'X402_FACILITATOR_URL and X402_FACILITATOR_AUTHORIZATION',
            `${callPayment.facilitatorUrl.replace(/\/$/, '')}/supported`,
            callPayment.facilitatorAuthorization ?? undefined,
          ),
      ].filter((rail) => rail !== null)
      const asked = await Promise.all(rails)
      if (paymentsDevelopmentRail && publicUrl !== null)
        asked.push(
          warning(
            'the development rail is on',
            'it credits balance without money',
            'PAYMENTS_DEVELOPMENT_RAIL=false',
          ),
        )
      return asked.length > 0 ? asked : [ok('no rail is set, or only the one for trials')]
    },
  },
  {
    name: 'provider keys',
    async run({ config, environment, redis }) {
      const logger = pino({ level: 'silent' })
      const { catalog, platformKeys } = await openCatalog(
        config,
        environment,
        await readOverlay(redis),
        logger,
      )
      const tested = await testPlatformKeys(catalog.snapshot(), platformKeys)
      if (tested.length === 0)
        return [ok('none is set: simulated providers, local ones and BYOK keys serve what they can')]
      return tested.map(({ providerId, origin, result }) => {
        const key = `the key of ${providerId} (${origin})`
        if (result instanceof Error)
          return warning(
            `${key} was not tested: ${reasonOf(result)}`,
            'calls use other providers while this one is away',
            'look at the status page of the provider, and at the network of this host',
          )
        if (result === 'accepted' || result === 'unknown')
          return ok(
            `${key} is ${result === 'accepted' ? 'accepted' : 'not refused'}; npm run catalog -- check ${providerId} tries its features`,
          )
        return wrong(
          `${key} is refused: ${result}`,
          'its offers fail, and calls cost an attempt before they use others',
          origin.includes(' ') ? 'store another key in the console under Providers' : `${origin}=…`,
        )
      })
    },
  },
]

/** Asks for an address that needs a credential; only a refused credential and no answer are wrong. */
const answerOf = (name: string, setting: string, url: string, authorization: string | undefined) =>
  attempt(name, setting, async () => {
    const headers: Record<string, string> = authorization ? { authorization } : {}
    const signal = AbortSignal.timeout(REQUEST_WITHIN_MS)
    const answer = await fetch(url, { headers, signal, redirect: 'error' })
    await answer.body?.cancel()
    if (answer.status === 401 || answer.status >= 500) throw new Error(`status ${answer.status}`)
  })

async function attempt(name: string, setting: string, run: () => Promise<unknown>): Promise<Finding> {
  try {
    await run()
    return ok(`${name} accepts its credentials`)
  } catch (error) {
    return wrong(`${name}: ${reasonOf(error)}`, 'payments by it fail', `correct ${setting}`)
  }
}
