import type { Client } from '@paypal/paypal-server-sdk'
import type { PaypalSettings } from '../core/billing/payment-settings.ts'

const TIMEOUT_MS = 10_000
const RETRIES = 2

/** PayPal by its SDK, at a base address of our choosing. */
export type PaypalClient = Awaited<ReturnType<typeof createPaypalClient>>

/**
 * The SDK has two addresses, live and sandbox. Requests are rewritten on their way out to the configured one,
 * its token requests included. Loaded on use, so that only a gateway with PayPal's keys pays for it.
 */
export async function createPaypalClient(settings: PaypalSettings) {
  const sdk = await import('@paypal/paypal-server-sdk')
  class RebasedClient extends sdk.Client {
    override getRequestBuilderFactory(): ReturnType<Client['getRequestBuilderFactory']> {
      const build = super.getRequestBuilderFactory()
      return (...args) => {
        const request = build(...args)
        request.interceptRequest((outgoing) => ({ ...outgoing, url: rebase(outgoing.url, settings.apiBase) }))
        return request
      }
    }
  }
  const client = new RebasedClient({
    environment: sdk.Environment.Production,
    clientCredentialsAuthCredentials: {
      oAuthClientId: settings.clientId,
      oAuthClientSecret: settings.clientSecret,
    },
    timeout: TIMEOUT_MS,
    httpClientOptions: { timeout: TIMEOUT_MS, retryConfig: { maxNumberOfRetries: RETRIES } },
  })
  return {
    orders: new sdk.OrdersController(client),
    payments: new sdk.PaymentsController(client),
    /** Posts JSON text as it stands, byte for byte, with the client's authorization; returns the answer's text. */
    async postRaw(path: string, json: string): Promise<string> {
      const request = client.getRequestBuilderFactory()('POST', path)
      request.header('Content-Type', 'application/json')
      request.text(json)
      request.authenticate([{ oauth2: true }])
      return (await request.callAsText()).result
    },
    /** Gets what the SDK has no method for; returns the answer's JSON. */
    async getJson(path: string, query: Record<string, string> = {}): Promise<unknown> {
      const request = client.getRequestBuilderFactory()('GET', path)
      for (const [name, value] of Object.entries(query)) request.query(name, value)
      request.authenticate([{ oauth2: true }])
      return JSON.parse((await request.callAsText()).result)
    },
  }
}

/** Moves an address of PayPal's to another base, which may have a path. */
function rebase(url: string, apiBase: string): string {
  const { pathname, search } = new URL(url)
  return `${apiBase}${pathname}${search}`
}
