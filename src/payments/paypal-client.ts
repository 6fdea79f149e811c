import { createSingleFlight } from '../core/kernel/single-flight.ts'
import type { PaypalSettings } from '../core/payments/payment-settings.ts'
import { readBoundedBody } from '../platform/network/read-bounded-body.ts'

/** Timeout of one request and its response. */
const TIMEOUT_MS = 10_000
const BODY_MAX_BYTES = 1024 * 1024
/** How long before its expiry a token is replaced, so that none expires in flight. */
const TOKEN_MARGIN_MS = 60_000
const UNAUTHORIZED = 401

/** An error status of PayPal. Contains its error name and debug id, never a credential. */
export class PaypalError extends Error {
  override name = 'PaypalError'
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/**
 * PayPal's REST API with the client's authorization. Resolves to the parsed JSON of the response. Rejects with
 * PaypalError, and with other errors if PayPal is unreachable, does not respond in time or sends no JSON.
 */
export interface PaypalClient {
  get(path: string, query?: Record<string, string>): Promise<unknown>
  /**
   * @param json sent byte for byte; absent: no body
   * @param requestId PayPal repeats its response to the same id instead of acting again
   */
  post(path: string, options: { json?: string; requestId?: string }): Promise<unknown>
}

/** The variable parts of a request. */
interface PaypalRequest {
  method: 'GET' | 'POST'
  path: string
  headers?: Record<string, string>
  body?: string
}

interface PaypalResponse {
  request: PaypalRequest
  status: number
  text: string
}

export function createPaypalClient(
  settings: Omit<PaypalSettings, 'webhookId'>,
  { clock = Date.now, timeoutMs = TIMEOUT_MS } = {},
): PaypalClient {
  const singleFlight = createSingleFlight()
  let token: { text: string; expiresAtMs: number } | null = null

  async function exchange(request: PaypalRequest, authorization: string): Promise<PaypalResponse> {
    const { method, path, headers, body } = request
    try {
      const response = await fetch(settings.apiBase + path, {
        method,
        headers: { accept: 'application/json', ...headers, authorization },
        ...(body !== undefined && { body }),
        signal: AbortSignal.timeout(timeoutMs),
        // A redirect would forward the credentials.
        redirect: 'error',
      })
      return {
        request,
        status: response.status,
        text: await readBoundedBody(response, BODY_MAX_BYTES, 'PayPal'),
      }
    } catch (cause) {
      throw new Error(`PayPal did not respond to ${method} ${path}`, { cause })
    }
  }

  async function fetchToken(): Promise<string> {
    const request: PaypalRequest = {
      method: 'POST',
      path: '/v1/oauth2/token',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: 'grant_type=client_credentials',
    }
    const credentials = Buffer.from(`${settings.clientId}:${settings.clientSecret}`).toString('base64')
    const answer = await exchange(request, `Basic ${credentials}`)
    // Not a PaypalError, because the status does not concern the request that needs the token.
    if (!isSuccess(answer)) throw new Error(`PayPal issued no access token: ${failureOf(answer)}`)
    const { access_token: text, expires_in: seconds } = readJson(answer) as Record<string, unknown>
    if (typeof text !== 'string' || typeof seconds !== 'number')
      throw new Error('PayPal issued no access token: its response contains none')
    token = { text, expiresAtMs: clock() + seconds * 1_000 }
    return text
  }

  const currentToken = async (): Promise<string> =>
    token && clock() < token.expiresAtMs - TOKEN_MARGIN_MS ? token.text : singleFlight('token', fetchToken)

  async function send(request: PaypalRequest): Promise<unknown> {
    const used = await currentToken()
    let answer = await exchange(request, `Bearer ${used}`)
    if (answer.status === UNAUTHORIZED) {
      // PayPal can revoke a token before it expires. The request had no effect, so a POST may be repeated.
      if (token?.text === used) token = null
      answer = await exchange(request, `Bearer ${await currentToken()}`)
    }
    if (!isSuccess(answer)) throw new PaypalError(answer.status, failureOf(answer))
    return readJson(answer)
  }

  return {
    get: (path, query) =>
      send({ method: 'GET', path: query ? `${path}?${new URLSearchParams(query)}` : path }),
    post: (path, { json, requestId }) =>
      send({
        method: 'POST',
        path,
        headers: {
          'content-type': 'application/json',
          // Makes the response to a write the whole object instead of its id.
          prefer: 'return=representation',
          ...(requestId !== undefined && { 'paypal-request-id': requestId }),
        },
        ...(json !== undefined && { body: json }),
      }),
  }
}

const isSuccess = ({ status }: PaypalResponse): boolean => status >= 200 && status < 300

function readJson({ request: { method, path }, text }: PaypalResponse): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Without the cause: a syntax error quotes the text, which may contain a token.
    throw new Error(`PayPal responded to ${method} ${path} without JSON`)
  }
}

const failureOf = ({ request: { method, path }, status, text }: PaypalResponse): string =>
  `PayPal returned ${status} for ${method} ${path}${detailsOf(text)}`

/** Details from the body of an error: its name, the first issue and PayPal's id of the request. */
function detailsOf(text: string): string {
  try {
    const body = JSON.parse(text)
    const words = [body.name ?? body.error, body.details?.[0]?.issue, body.debug_id]
    const details = words.filter((word) => typeof word === 'string').join(', ')
    return details && `: ${details.slice(0, 200)}`
  } catch {
    // A proxy's page or an empty body: the status is sufficient.
    return ''
  }
}
