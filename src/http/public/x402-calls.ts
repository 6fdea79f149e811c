import { setTimeout as delay } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { plainKey, type StandardKey } from '../../accounts/key-cache.ts'
import { type AdmissionDependencies, planCall } from '../../calls/api/admit-call.ts'
import { AUTO_MODEL } from '../../core/auto/routing-profiles.ts'
import { CALL_PAYMENT_ACCOUNT } from '../../core/billing/postings.ts'
import { type ChatRequest, mediaParts, refuseLongText } from '../../core/calls/chat-request.ts'
import { endsCall, type FrameBody } from '../../core/calls/frames.ts'
import { findModel } from '../../core/catalog/catalog.ts'
import { ApiError, invalid } from '../../core/kernel/errors.ts'
import { type CallId, newCallId } from '../../core/kernel/ids.ts'
import { formatUsd } from '../../core/kernel/money.ts'
import { unitsToPico } from '../../core/payments/x402.ts'
import type { CallPlan } from '../../core/routing/call-plan.ts'
import type { CallPayments, Quote } from '../../payments/x402/call-payments.ts'
import { clientNetworks } from '../../platform/network/client-networks.ts'
import type { Logger } from '../../platform/observability/logger.ts'
import type { NetworkLimiter } from '../../platform/redis/rate-limiter.ts'
import type { CompletionWriter } from '../calls/completion-writer.ts'
import { whenResponseCloses } from '../calls/event-stream.ts'
import { type CallServices, type ServeOptions, serveCall } from '../calls/serve-call.ts'
import type { ChatGuests } from './chat-completions.ts'

/** Calls without a key, each paid by x402. */
export interface PaidCalls {
  payments: CallPayments
  throttle: NetworkLimiter
  publicUrl: string | null
  /** Limits of all calls without a key together. */
  limits: GuestLimits
  logger: Logger
}

interface GuestLimits {
  x402ConcurrentCalls: number
}

interface PaidCallDependencies extends PaidCalls {
  admission: AdmissionDependencies
}

/** A paid call that has not started yet. */
interface PaidCall {
  key: StandardKey
  callId: CallId
  plan: CallPlan
  admission: AdmissionDependencies
  /** Settles the payment according to what is written. */
  watch: (writer: CompletionWriter) => CompletionWriter
  /** The call was not started, or failed. Resolves when its authorization may be used again. */
  failed: (error: unknown) => Promise<void>
}

/** Of all calls without a key together. */
const REQUESTS_PER_MINUTE = 6_000

/** A guest is identified by the network, and after a payment by the wallet. */
const guest = (keyId: string, limits: GuestLimits): StandardKey => ({
  ...plainKey(CALL_PAYMENT_ACCOUNT, keyId),
  accountLimits: {
    requestsPerMinute: REQUESTS_PER_MINUTE,
    concurrentCalls: limits.x402ConcurrentCalls,
  },
})

/** A request with any credential counts as a request with a key. */
const isGuest = ({ headers }: FastifyRequest): boolean => headers.authorization === undefined

/** An onRequest hook instead of `requireKey`: accepts requests without a key, up to the limit of a network. */
const requireKeyOrPayment =
  (requireKey: FastifyInstance['requireKey'], { throttle, limits }: PaidCalls) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (!isGuest(request)) return requireKey(request, reply)
    await throttle.consume(request.ip)
    request.key = guest(clientNetworks(request.ip).subnet, limits)
  }

const UNQUOTABLE = new Set([400, 404, 422])

/**
 * The error handler of a route that accepts payments: a request that cannot be quoted, with neither key nor payment,
 * has probably lost its key.
 */
function askForKey(error: Error & { statusCode?: number; status?: number }, request: FastifyRequest): never {
  const status = error instanceof ApiError ? error.status : error.statusCode
  const isAsking = isGuest(request) && request.headers['payment-signature'] === undefined
  if (!isAsking || !UNQUOTABLE.has(status ?? 0)) throw error
  const reason = error instanceof ApiError ? ` This one was not: ${error.message}` : ''
  throw new ApiError(
    'missing_api_key',
    'Send your API key in the header `Authorization: Bearer <API_KEY>`. Without one, a call is paid by x402: it is quoted if it ' +
      `is valid, names one model by its exact id and has \`max_tokens\`.${reason}`,
    { cause: error },
  )
}

/** The chats of requests without a key; null if none is accepted. */
export function chatGuests(app: FastifyInstance): ChatGuests | null {
  const { calls: deps } = app
  const { paidCalls } = app.calls
  return (
    paidCalls && {
      isGuest,
      requireKeyOrPayment: requireKeyOrPayment(app.requireKey, paidCalls),
      errorHandler: askForKey,
      serve: (...chat) => servePaidChat(...chat, deps, paidCalls),
    }
  )
}

/** Starts the call of a chat completion without a key once it is paid. Throws ApiError. */
async function servePaidChat(
  request: FastifyRequest,
  reply: FastifyReply,
  call: ChatRequest,
  options: ServeOptions,
  deps: CallServices,
  paidCalls: PaidCalls,
): Promise<FastifyReply> {
  refuseLongText(mediaParts(call.content.messages), request.bodyBytes, deps.limits.textBodyLimitBytes)
  const shard = deps.pathOf(CALL_PAYMENT_ACCOUNT)
  const paid = await payForCall(call, request, reply, { ...paidCalls, admission: shard.admission })
  const { key, callId, plan, watch, admission } = paid
  try {
    return await serveCall(key, call, { ...options, callId, plan, watch }, request, reply, {
      ...deps,
      pathOf: () => ({ ...shard, admission }),
    })
  } catch (error) {
    await paid.failed(error)
    throw error
  }
}

/**
 * Quotes a call without a key, and accepts its payment. Throws ApiError 402 `payment_required` with the header
 * `PAYMENT-REQUIRED` if its payment is missing or insufficient.
 */
async function payForCall(
  chat: ChatRequest,
  request: FastifyRequest,
  reply: FastifyReply,
  deps: PaidCallDependencies,
): Promise<PaidCall> {
  const { payments, admission } = deps
  const plan = planExactCall(chat, request, deps)
  const quote = await payments.quote(plan.worstCase, chat.stream)
  const refuse = (reason: string, message: string) => {
    const url = `${deps.publicUrl ?? `${request.protocol}://${request.host}`}${request.url}`
    reply.header('payment-required', payments.requiredHeader(quote, url, reason))
    reply.header('cache-control', 'no-store')
    return new ApiError('payment_required', message, { metadata: quoteView(quote) })
  }
  const signature = request.headers['payment-signature']
  if (typeof signature !== 'string') {
    throw refuse(
      'PAYMENT-SIGNATURE header is required',
      'Send an API key, or pay for this call by x402 as described in the header `PAYMENT-REQUIRED`.',
    )
  }
  const callId = newCallId(admission.clock())
  const outcome = await payments.take(signature, callId, quote)
  if (outcome.kind === 'refused')
    throw refuse(outcome.reason, `The payment was not accepted for this call: ${outcome.reason}.`)
  const { payer, paysFirst } = outcome
  request.key = guest(payer, deps.limits)
  return {
    key: request.key as StandardKey,
    callId,
    plan,
    admission: { ...admission, admit: admitPaid(admission) },
    watch: (writer) => watchPayment(writer, { callId, payer, paysFirst }, chat, reply, deps),
    failed: async (error) => {
      const reason = error instanceof ApiError ? error.code : 'internal_error'
      const release = () => payments.failed(callId, reason)
      await release().catch(() => admission.cleanup.add(release))
    },
  }
}

/** Plans a call with a known price: one model by its id, and a completion limit. Throws ApiError. */
function planExactCall(
  chat: ChatRequest,
  { headers }: FastifyRequest,
  { admission, limits }: PaidCallDependencies,
) {
  if (headers['idempotency-key'] !== undefined) {
    throw invalid('Idempotency-Key', '`Idempotency-Key` requires an API key, because a payment pays once.')
  }
  const [model] = chat.models
  if (chat.models.length !== 1 || model === undefined || model === AUTO_MODEL) throw notExact()
  if (chat.completionLimit === undefined) {
    throw invalid('max_tokens', 'A call paid by x402 requires `max_tokens`, which bounds the price.')
  }
  const plan = planCall(chat, guest('', limits), undefined, admission)
  // Only a routing suffix leads to another model.
  if (findModel(admission.catalog(), model) === null) throw notExact()
  return plan
}

const notExact = () =>
  invalid(
    'model',
    'A call paid by x402 must name one model by its exact id, which bounds the price. GET /pricing.json lists the ids.',
  )

const quoteView = ({ terms: { amount, network, asset, payTo } }: Quote) => ({
  required_usd: formatUsd(unitsToPico(BigInt(amount))),
  amount,
  network,
  asset,
  pay_to: payTo,
})

const BALANCE_WAIT_MS = 2_000
const ASK_AGAIN_MS = 50

/**
 * Admission on the account that all paid calls share. The payment is in its balance already, but the charge of another
 * call may count twice for a moment, until its hold is closed.
 */
const admitPaid =
  ({ admit, clock }: AdmissionDependencies): AdmissionDependencies['admit'] =>
  async (request) => {
    const giveUpAt = clock() + BALANCE_WAIT_MS
    for (;;) {
      const reply = await admit(request)
      if (reply.kind !== 'insufficient-balance') return reply
      if (clock() > giveUpAt) return { kind: 'too-late', rate: reply.rate }
      await delay(ASK_AGAIN_MS)
    }
  }

/**
 * Decides about a payment by what its client receives: a complete response is paid before it is sent, a stream after
 * its end, a failed call never. The stream of a wallet that pays first is buffered, and paid before it is sent. If the
 * client leaves, the produced output decides.
 */
function watchPayment(
  writer: CompletionWriter,
  { callId, payer, paysFirst }: { callId: CallId; payer: string; paysFirst: boolean },
  { stream }: ChatRequest,
  reply: FastifyReply,
  { payments, admission: { cleanup }, logger }: PaidCallDependencies,
): CompletionWriter {
  let isDecided = false
  const decide = (task: (callId: CallId) => Promise<unknown>) => {
    if (isDecided) return
    isDecided = true
    cleanup.add(() => task(callId))
  }
  /** Throws ApiError if the facilitator refused the payment. */
  const settle = async (): Promise<void> => {
    if (isDecided) return
    isDecided = true
    let verdict: Awaited<ReturnType<CallPayments['settle']>>
    try {
      verdict = await payments.settle(callId, cleanup.add)
    } catch (error) {
      logger.warn({ err: error, callId }, 'call payment not settled yet, retrying')
      cleanup.add(() => payments.answered(callId))
      return
    }
    if (verdict?.kind !== 'settled' && verdict?.kind !== 'unpaid') return
    // A long buffered stream has sent its headers with a keep-alive.
    if (!reply.raw.headersSent) reply.header('payment-response', payments.responseHeader(payer, verdict))
    if (verdict.kind === 'settled') return
    throw new ApiError('payment_required', `The payment was refused: ${verdict.reason}.`)
  }
  whenResponseCloses(reply.raw, () => decide(payments.left))
  const failed = (code: string) => decide((id) => payments.failed(id, code))
  if (stream && paysFirst) return keptBack(writer, settle, failed)
  return {
    body: stream
      ? writer.body
      : writer.body.then(async (body) => {
          await settle()
          return body
        }),
    frame(body) {
      const written = writer.frame(body)
      if (!endsCall(body)) return
      if (body[0] === 'error') failed(body[1].code)
      else if (stream) decide(reply.raw.destroyed ? payments.left : payments.answered)
      return written
    },
    flush: () => writer.flush(),
    tick: (nowMs) => writer.tick(nowMs),
  }
}

/**
 * Writes a stream once it is complete and paid; a failed one is written as the failure alone. The buffer is no larger
 * than the complete response.
 */
function keptBack(
  writer: CompletionWriter,
  settle: () => Promise<void>,
  failed: (code: string) => void,
): CompletionWriter {
  const kept: FrameBody[] = []
  const release = () => {
    for (const frame of kept.splice(0)) void writer.frame(frame)
  }
  return {
    body: writer.body,
    frame(body) {
      kept.push(body)
      if (!endsCall(body)) return
      if (body[0] === 'error') {
        failed(body[1].code)
        kept.splice(0, kept.length - 1)
        return release()
      }
      return settle().then(release, (error: unknown) => {
        const { code, message } =
          error instanceof ApiError ? error : new ApiError('internal_error', 'The payment failed.')
        void writer.frame(['error', { code, message }])
      })
    },
    flush: () => writer.flush(),
    tick: (nowMs) => writer.tick(nowMs),
  }
}
