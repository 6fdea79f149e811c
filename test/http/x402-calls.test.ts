import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client, x402HTTPClient } from '@x402/fetch'
import pino from 'pino'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createHoldStore } from '../../src/billing/holds/hold-store.ts'
import { readConfig } from '../../src/config.ts'
import { CALL_PAYMENT_ACCOUNT } from '../../src/core/billing/postings.ts'
import { parseUsd } from '../../src/core/kernel/money.ts'
import { unitsToPico } from '../../src/core/payments/x402.ts'
import { createCallPaymentStore } from '../../src/payments/x402/call-payment-store.ts'
import { closeCallPayments } from '../../src/payments/x402/close-call-payments.ts'
import { createFacilitator } from '../../src/payments/x402/facilitator.ts'
import { settleDuePayments } from '../../src/payments/x402/settle-due-payments.ts'
import { createNetworkLimiter } from '../../src/platform/redis/rate-limiter.ts'
import { accountKeys } from '../../src/platform/redis/redis-keys.ts'
import { eventually } from '../helpers/eventually.ts'
import { startTestFacilitator, type TestFacilitator, TOKEN } from '../helpers/facilitator.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { CHAT_PATH, completionOf, expectError, MESSAGES, readStream } from './wire.ts'

const PAY_TO = '0x00000000000000000000000000000000000000A1'
const MODELS = {
  'test/large': [{ at: 'alpha', model: 'words-12' }],
  'test/long': [{ at: 'alpha', model: 'words-4000.rate-50' }],
  'test/slow': [{ at: 'alpha', model: 'words-300.rate-200' }],
  'test/fails': [{ at: 'alpha', model: 'status-500' }],
  'test/breaks': [{ at: 'alpha', model: 'cut-after-5.words-40' }],
}
const FUNDS = 1_000_000n
const HOUR_MS = 3_600_000

let stack: TestStack
let facilitator: TestFacilitator

beforeAll(async () => {
  facilitator = await startTestFacilitator(PAY_TO)
  const environment = {
    X402_FACILITATOR_URL: facilitator.url,
    X402_NETWORK: TOKEN.network,
    X402_ASSET: TOKEN.asset,
    X402_ASSET_NAME: TOKEN.name,
    X402_PAY_TO: PAY_TO,
    X402_SETTLE_WAIT_MS: '400',
    X402_QUOTES_PER_ADDRESS: '1000',
  }
  stack = await startStack({ models: MODELS, environment })
})
afterAll(async () => {
  await stack?.close()
  await facilitator.close()
})
beforeEach(() => facilitator.settles('answers'))

const callBody = (fields: object = {}) =>
  JSON.stringify({ model: 'test/large', messages: MESSAGES, max_tokens: 100, ...fields })
const post = (body: string, headers: Record<string, string> = {}, request: typeof fetch = fetch) =>
  request(stack.url + CHAT_PATH, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body,
  })

/** A wallet, and the official client that pays with it. */
function wallet(units = FUNDS) {
  const account = privateKeyToAccount(generatePrivateKey())
  facilitator.fund(account.address, units)
  const client = new x402Client().register('eip155:*', new ExactEvmScheme(account))
  const http = new x402HTTPClient(client)
  /** The header that pays for a quote, which may be changed before it is signed. */
  const sign = async (
    quote: Response,
    change: (terms: { amount: string; payTo: string }) => void = () => undefined,
  ) => {
    const required = http.getPaymentRequiredResponse((name) => quote.headers.get(name))
    change(required.accepts[0]!)
    return http.encodePaymentSignatureHeader(await client.createPaymentPayload(required))
  }
  return { address: account.address, pay: wrapFetchWithPayment(fetch, client) as typeof fetch, sign }
}

/** A wallet that has paid for calls, more than the others may cost. */
async function customer() {
  const made = wallet()
  expect((await post(callBody({ max_tokens: 30_000 }), {}, made.pay)).status).toBe(200)
  return made
}

const paymentOf = (payer: string) =>
  stack.postgres.callPayment.findFirstOrThrow({ where: { payer: payer.toLowerCase() } })
const quotedUnits = async (body = callBody()) => {
  const header = (await post(body)).headers.get('payment-required')
  return BigInt(decodePaymentRequiredHeader(header!).accepts[0]!.amount)
}

/** Runs what settlement processes do every few seconds, as if it were so much later. */
async function reconcile(laterMs = 0): Promise<void> {
  const { callPayment, x402SettleWaitMs } = readConfig(stack.environment)
  const deps = {
    store: createCallPaymentStore(stack.postgres),
    holds: createHoldStore(stack.redis),
    facilitator: await createFacilitator(callPayment!, x402SettleWaitMs),
    settleWaitMs: x402SettleWaitMs,
    logger: pino({ level: 'silent' }),
    clock: () => Date.now() + laterMs,
  }
  await closeCallPayments(deps)
  await settleDuePayments(deps)
  await closeCallPayments(deps)
}

const untilSettled = (payer: string, payments = 1) =>
  eventually(async () => {
    await reconcile()
    const where = { payer: payer.toLowerCase(), state: 'settled' } as const
    expect(await stack.postgres.callPayment.count({ where })).toBe(payments)
  })

async function expectRefused(response: Response, reason: string): Promise<void> {
  expect(response.status, await response.clone().text()).toBe(402)
  expect(decodePaymentRequiredHeader(response.headers.get('payment-required')!).error).toBe(reason)
}

describe('a quote', () => {
  test('is the bound of the call in atomic units, for callers without any key', async () => {
    const response = await post(callBody({ max_tokens: 1_000 }))
    expect(response.status).toBe(402)
    expect(response.headers.get('www-authenticate')).toBeNull()
    expect(response.headers.get('cache-control')).toBe('no-store')
    const required = decodePaymentRequiredHeader(response.headers.get('payment-required')!)
    expect(required).toMatchObject({
      x402Version: 2,
      resource: { url: `${stack.url}${CHAT_PATH}` },
      accepts: [
        {
          scheme: 'exact',
          network: TOKEN.network,
          asset: TOKEN.asset,
          payTo: PAY_TO,
          extra: { name: 'USDC', version: '2' },
        },
      ],
    })
    const { error } = (await response.json()) as { error: { metadata: { amount: string } } }
    expect(error).toMatchObject({ type: 'billing_error', code: 'payment_required' })
    expect(error.metadata.amount).toBe(required.accepts[0]!.amount)
    // 1,000 completion tokens at 2 USD a million, and a short prompt at 1.
    expect(Number(error.metadata.amount)).toBeGreaterThan(2_000)
    expect(Number(error.metadata.amount)).toBeLessThan(2_100)
  })

  test.each([
    ['no completion limit', { max_tokens: undefined }, 400, 'max_tokens'],
    ['no model', { model: undefined }, 400, 'model'],
    ['auto', { model: 'auto' }, 400, 'model'],
    ['several models', { model: undefined, models: ['test/large', 'test/long'] }, 400, 'model'],
    ['a routing suffix', { model: 'test/large:floor' }, 400, 'model'],
    ['an unknown model', { model: 'test/unknown' }, 404, 'model'],
    ['no messages', { messages: [] }, 400, 'messages'],
  ])(
    'with %s is a forgotten key without a payment, and refused by name with one',
    async (_name, fields, status, param) => {
      const forgotten = await post(callBody(fields))
      expect(forgotten.headers.get('www-authenticate')).toBe('Bearer')
      expect(forgotten.headers.get('payment-required')).toBeNull()
      const { message } = await expectError(forgotten, 401, 'missing_api_key')
      expect(message).toMatch(/Authorization: Bearer.*x402/)
      const paid = await post(callBody(fields), await wallet().sign(await post(callBody())))
      expect(paid.status).toBe(status)
      expect(await paid.json()).toMatchObject({ error: { param } })
    },
  )

  test('is not what a body that is no JSON gets', async () => {
    await expectError(await post('{'), 401, 'missing_api_key')
  })

  test('is in the description of the API, with its headers', async () => {
    const { paths } = (await (await fetch(`${stack.url}/openapi.json`)).json()) as {
      paths: Record<string, { post: Record<'parameters' | 'security' | 'responses', never> }>
    }
    const { parameters, security, responses } = paths[CHAT_PATH]!.post
    expect(parameters).toContainEqual(expect.objectContaining({ name: 'PAYMENT-SIGNATURE', in: 'header' }))
    expect(security).toEqual([{ apiKey: [] }, {}])
    expect(responses).toMatchObject({
      200: { headers: { 'PAYMENT-RESPONSE': { schema: { type: 'string' } } } },
      402: {
        description: expect.stringContaining('payment_required'),
        headers: { 'PAYMENT-REQUIRED': { schema: { type: 'string' } } },
      },
    })
    expect(paths['/v2/chat/completions']!.post.security).toEqual([{ apiKey: [] }])
  })

  test('is not made for a key that does not exist, nor with an Idempotency-Key', async () => {
    const invalid = await post(callBody(), { authorization: 'Bearer sk-sy-unknown' })
    expect(invalid.status).toBe(401)
    expect(invalid.headers.get('payment-required')).toBeNull()
    await expectError(await post(callBody(), { 'idempotency-key': 'one' }), 401, 'missing_api_key')
  })

  test('is made for one network so many times a minute', async () => {
    const throttle = createNetworkLimiter(stack.redis, 'quote', 2, 60)
    await throttle.consume('192.0.2.1')
    await throttle.consume('192.0.2.1')
    await expect(throttle.consume('192.0.2.1')).rejects.toMatchObject({ code: 'rate_limit_exceeded' })
    await throttle.consume('192.0.2.2')
  })
})

describe('a paid call', () => {
  test('is answered whole once its quote is settled', async () => {
    const { address, pay } = wallet()
    const units = await quotedUnits()
    const response = await post(callBody(), {}, pay)
    const { transaction } = decodePaymentResponseHeader(response.headers.get('payment-response')!)
    const completion = await completionOf(response)
    expect(completion.choices[0]!.message.content).toBeTruthy()
    expect(facilitator.balance(address)).toBe(FUNDS - units)
    const payment = await paymentOf(address)
    expect(payment).toMatchObject({
      callId: completion.id,
      state: 'settled',
      transaction,
      amountPico: unitsToPico(units),
    })
    await untilIdle(stack)
    await reconcile()
    const entries = await stack.postgres.ledgerEntry.findMany({ where: { transactionId: completion.id } })
    const sum = (account: string) =>
      entries
        .filter(({ ledgerAccount }) => ledgerAccount === account)
        .reduce((total, { amountPico }) => total + amountPico, 0n)
    const { chargePico } = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: completion.id } })
    expect(sum('rail:x402')).toBe(-payment.amountPico)
    expect(sum('revenue')).toBe(chargePico)
    expect(sum('call_payment_remainder')).toBe(payment.amountPico - chargePico)
    expect(sum(`customer:${CALL_PAYMENT_ACCOUNT}`)).toBe(0n)
  })

  test('streams, and is settled after its end, within what its wallet has paid', async () => {
    const { address, pay } = await customer()
    const before = facilitator.balance(address)
    const response = await post(callBody({ stream: true }), {}, pay)
    expect(response.status).toBe(200)
    expect(response.headers.get('payment-response')).toBeNull()
    expect(readStream(await response.text()).isDone).toBe(true)
    await untilSettled(address, 2)
    expect(facilitator.balance(address)).toBe(before - (await quotedUnits()))
  })

  test('streams to a wallet that has paid nothing once it is paid', async () => {
    const { address, pay } = wallet()
    const response = await post(callBody({ stream: true }), {}, pay)
    const { transaction } = decodePaymentResponseHeader(response.headers.get('payment-response')!)
    expect(readStream(await response.text())).toMatchObject({
      isDone: true,
      content: expect.stringMatching(/./),
    })
    expect(await paymentOf(address)).toMatchObject({ state: 'settled', attempts: 1, transaction })
    expect(facilitator.balance(address)).toBe(FUNDS - (await quotedUnits()))
  })

  test('does not stream to a wallet that was emptied meanwhile', async () => {
    const { address, sign } = wallet()
    const body = callBody({ model: 'test/slow', stream: true, max_tokens: 400 })
    const call = post(body, await sign(await post(body)))
    await eventually(async () => expect((await paymentOf(address)).state).toBe('authorized'))
    facilitator.fund(address, 0n)
    const response = await call
    const text = await response.text()
    expect(text).toContain('payment_required')
    expect(text).not.toContain('"content":"')
    expect(await paymentOf(address)).toMatchObject({ state: 'unpaid' })
  })

  test('of a wallet that did not pay for four is refused for 30 days', async () => {
    const { address, sign } = wallet()
    const open = async () => {
      facilitator.fund(address, FUNDS)
      const headers = await sign(await post(callBody()))
      return post(callBody(), headers)
    }
    expect((await open()).status).toBe(200)
    const payment = await paymentOf(address)
    const { callId: _id, nonce: _nonce, ...like } = payment
    await stack.postgres.callPayment.createMany({
      data: Array.from({ length: 4 }, (_, index) => ({
        ...like,
        ...{ callId: `chatcmpl_unpaid_${index}`, nonce: `0x${index}`, state: 'unpaid', transaction: null },
        request: {},
        decidedAt: new Date(),
        closedAt: new Date(),
      })),
    })
    await expectError(await open(), 403, 'not_permitted')
    const where = { payer: address.toLowerCase(), state: 'unpaid' } as const
    await stack.postgres.callPayment.updateMany({
      where,
      data: { decidedAt: new Date(Date.now() - 31 * 24 * HOUR_MS) },
    })
    expect((await open()).status).toBe(200)
    await stack.postgres.callPayment.deleteMany({ where })
  })

  test('that was refused for a limit has not used its authorization up', async () => {
    const { address, sign } = wallet()
    const headers = await sign(await post(callBody()))
    const { record } = accountKeys(CALL_PAYMENT_ACCOUNT)
    await stack.redis.hset(record, 'use', ' 200 0')
    await expectError(await post(callBody(), headers), 429, 'concurrency_limit_exceeded')
    await stack.redis.hset(record, 'use', ' 0 0')
    expect((await post(callBody(), headers)).status).toBe(200)
    expect(await stack.postgres.callPayment.count({ where: { payer: address.toLowerCase() } })).toBe(2)
    await untilSettled(address)
    expect(facilitator.balance(address)).toBe(FUNDS - (await quotedUnits()))
  })

  test('is not quoted while payments have been due for over a minute', async () => {
    const { address, pay } = wallet()
    await post(callBody(), {}, pay)
    const { callId } = await paymentOf(address)
    await eventually(async () => {
      // The settlement process takes it up within a second.
      await stack.postgres.callPayment.update({
        where: { callId },
        data: {
          state: 'settling',
          transaction: null,
          closedAt: null,
          nextAttemptAt: new Date(Date.now() - 61_000),
        },
      })
      const refused = await post(callBody())
      expect(refused.status).toBe(503)
      expect(refused.headers.get('retry-after')).toBe('30')
    })
    await untilSettled(address)
    await eventually(async () => expect((await post(callBody())).status).toBe(402))
  })

  test('is not run a second time for the same payment', async () => {
    const { address, sign } = wallet()
    const headers = await sign(await post(callBody()))
    expect((await post(callBody(), headers)).status).toBe(200)
    const verified = facilitator.asked('/verify')
    await expectRefused(await post(callBody(), headers), 'invalid_exact_evm_nonce_already_used')
    expect(facilitator.asked('/verify')).toBe(verified)
    expect(facilitator.balance(address)).toBe(FUNDS - (await quotedUnits()))
  })

  test('is run once for one payment that is sent ten times at once', async () => {
    const { address, sign } = wallet()
    const headers = await sign(await post(callBody()))
    const responses = await Promise.all(Array.from({ length: 10 }, () => post(callBody(), headers)))
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 402)).toHaveLength(9)
    expect(facilitator.balance(address)).toBe(FUNDS - (await quotedUnits()))
  })

  test('is refused whose payment is of another amount, to another wallet, expired or forged', async () => {
    const { address, sign } = wallet()
    const quote = await post(callBody())
    const units = await quotedUnits()
    const signed = async (change: Parameters<typeof sign>[1]) =>
      post(callBody(), await sign(quote.clone(), change))
    const less = await signed((terms) => {
      terms.amount = String(units - 1n)
    })
    await expectRefused(less, 'invalid_exact_evm_payload_authorization_value')
    const elsewhere = await signed((terms) => {
      terms.payTo = '0x00000000000000000000000000000000000000b2'
    })
    await expectRefused(elsewhere, 'invalid_payment_requirements')
    const short = await signed((terms) => Object.assign(terms, { maxTimeoutSeconds: 30 }))
    await expectRefused(short, 'invalid_exact_evm_payload_authorization_valid_before')
    await expectRefused(await post(callBody(), { 'payment-signature': 'e30=' }), 'invalid_payload')
    await expectRefused(await post(callBody(), { 'payment-signature': '%' }), 'invalid_payload')

    const header = Object.values(await sign(quote.clone()))[0]!
    const forged = JSON.parse(Buffer.from(header, 'base64').toString())
    forged.payload.authorization.from = wallet().address
    const forgery = Buffer.from(JSON.stringify(forged)).toString('base64')
    await expectRefused(
      await post(callBody(), { 'payment-signature': forgery }),
      'invalid_exact_evm_signature',
    )
    const poor = wallet(0n)
    const unfunded = await post(callBody(), await poor.sign(quote.clone()))
    await expectRefused(unfunded, 'invalid_exact_evm_insufficient_balance')
    expect(facilitator.balance(address)).toBe(FUNDS)
  })

  test.each([
    ['fails before its answer', { model: 'test/fails' }, 502],
    ['breaks off in the stream of a wallet that pays first', { model: 'test/breaks', stream: true }, 502],
  ])('costs nothing if it %s', async (_name, fields, status) => {
    const { address, pay } = wallet()
    const response = await post(callBody(fields), {}, pay)
    expect(response.status).toBe(status)
    expect(await response.text()).toContain('"error"')
    await eventually(async () => expect((await paymentOf(address)).state).toBe('released'))
    expect(facilitator.balance(address)).toBe(FUNDS)
  })

  test('costs nothing if it breaks off in its stream', async () => {
    const { address, pay } = await customer()
    const before = facilitator.balance(address)
    const response = await post(callBody({ model: 'test/breaks', stream: true }), {}, pay)
    expect(response.status).toBe(200)
    expect(await response.text()).toContain('"error"')
    const where = { payer: address.toLowerCase(), state: 'released' } as const
    await eventually(async () => expect(await stack.postgres.callPayment.count({ where })).toBe(1))
    expect(facilitator.balance(address)).toBe(before)
  })

  test('is settled if its client leaves after something was produced', async () => {
    const { address, pay } = await customer()
    const before = facilitator.balance(address)
    const response = await post(callBody({ model: 'test/long', stream: true, max_tokens: 4_000 }), {}, pay)
    const reader = response.body!.getReader()
    await reader.read()
    await reader.cancel()
    await untilSettled(address, 2)
    expect(facilitator.balance(address)).toBeLessThan(before)
  })

  test('is 503, and not run, while the facilitator does not answer', async () => {
    const { address, sign } = wallet()
    const headers = await sign(await post(callBody()))
    facilitator.breakDown(true)
    const response = await post(callBody(), headers)
    facilitator.breakDown(false)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('5')
    expect(await stack.postgres.callPayment.count({ where: { payer: address.toLowerCase() } })).toBe(0)
    expect((await post(callBody(), headers)).status).toBe(200)
  })

  test.each(['hangs', 'hangs-once-paid'] as const)('is settled once if the facilitator %s', async (mode) => {
    const { address, pay } = wallet()
    facilitator.settles(mode)
    const response = await post(callBody(), {}, pay)
    expect(response.status).toBe(200)
    expect(response.headers.get('payment-response')).toBeNull()
    expect(await paymentOf(address)).toMatchObject({ state: 'settling', attempts: 1 })
    facilitator.settles('answers')
    await Promise.all([reconcile(60_000), reconcile(60_000)])
    expect(await paymentOf(address)).toMatchObject({ state: 'settled', attempts: 2 })
    expect(facilitator.balance(address)).toBe(FUNDS - (await quotedUnits()))
  })

  test('is not answered if its payment turns out to be worth nothing', async () => {
    const { address, sign } = wallet()
    const headers = await sign(await post(callBody({ model: 'test/long' })))
    const call = post(callBody({ model: 'test/long' }), headers)
    await eventually(async () => expect((await paymentOf(address)).state).toBe('authorized'))
    facilitator.fund(address, 0n)
    const response = await call
    expect(response.status).toBe(402)
    expect(decodePaymentResponseHeader(response.headers.get('payment-response')!)).toMatchObject({
      success: false,
      errorReason: 'invalid_exact_evm_insufficient_balance',
    })
    expect(await response.json()).toMatchObject({ error: { code: 'payment_required' } })
    expect(await paymentOf(address)).toMatchObject({ state: 'unpaid' })
  })

  test('is unproven if its payment expires without proof, until an operator looked it up', async () => {
    const { address, pay } = wallet()
    facilitator.settles('hangs-once-paid')
    const { id: callId } = await completionOf(await post(callBody(), {}, pay))
    facilitator.settles('forgets')
    await reconcile(HOUR_MS)
    expect(await paymentOf(address)).toMatchObject({
      state: 'unproven',
      reason: 'invalid_exact_evm_nonce_already_used',
    })
    const audit = await stack.command('audit')
    expect(audit.code).toBe(1)
    expect(audit.json.discrepancies).toMatchObject([{ subject: callId }])
    const transaction = [...facilitator.transfers.values()].at(-1)!
    const resolve = ['call-payment', 'resolve', callId, '--transaction', transaction]
    expect(await stack.command('admin', ...resolve)).toMatchObject({
      code: 0,
      json: { state: 'settled', transaction },
    })
    expect((await stack.command('admin', ...resolve)).code).toBe(1)
  })

  test('is counted by the day it was settled, to compare with what the wallet received', async () => {
    const { json } = await stack.command('admin', 'call-payment', 'days')
    const settled = await stack.postgres.callPayment.findMany({ where: { state: 'settled' } })
    const days = json.days as Array<{ payments: number; amount_usd: string }>
    expect(days.reduce((sum, day) => sum + day.payments, 0)).toBe(settled.length)
    const amounts = days.reduce((sum, day) => sum + parseUsd(day.amount_usd), 0n)
    expect(amounts).toBe(settled.reduce((sum, { amountPico }) => sum + amountPico, 0n))
    expect(settled.length).toBeGreaterThan(0)
  })

  test('has to wait while four of its wallet are open', async () => {
    const { address, pay } = await customer()
    // Together within what the wallet has paid: each sends its headers at once.
    const open = { model: 'test/long', stream: true, max_tokens: 900 }
    const calls = await Promise.all(Array.from({ length: 4 }, () => post(callBody(open), {}, pay)))
    const fifth = await post(callBody(), {}, pay)
    expect(fifth.status).toBe(429)
    expect(await fifth.json()).toMatchObject({ error: { code: 'concurrency_limit_exceeded' } })
    for (const call of calls) await call.body!.cancel()
    await untilSettled(address, 5)
  })
})

test('the ledger has every payment, nothing is left on their account, and what breaks that is found', async () => {
  await expectLedgerInOrder(stack)
  await reconcile(HOUR_MS)
  await expectLedgerInOrder(stack)
  expect(await stack.postgres.callPayment.count({ where: { closedAt: null } })).toBe(0)
  const { balancePico } = await stack.postgres.account.findUniqueOrThrow({
    where: { id: CALL_PAYMENT_ACCOUNT },
  })
  expect(balancePico).toBe(0n)
  const settled = await stack.postgres.callPayment.aggregate({
    where: { state: 'settled' },
    _sum: { amountPico: true },
  })
  expect(unitsToPico(facilitator.balance(PAY_TO))).toBe(settled._sum.amountPico)

  const [paid, free] = await Promise.all(
    (['settled', 'released'] as const).map((state) =>
      // One that was refused for a limit has an authorization that paid for another call.
      stack.postgres.callPayment.findFirstOrThrow({
        where: { state, OR: [{ reason: null }, { reason: { not: 'concurrency_limit_exceeded' } }] },
      }),
    ),
  )
  const breakAndAudit = async (callId: string, data: object) => {
    const before = await stack.postgres.callPayment.findUniqueOrThrow({ where: { callId } })
    await stack.postgres.callPayment.update({ where: { callId }, data })
    const { json } = await stack.command('audit')
    const { state, transaction, amountPico } = before
    await stack.postgres.callPayment.update({ where: { callId }, data: { state, transaction, amountPico } })
    return (json.discrepancies as Array<{ subject: string }>).map(({ subject }) => subject)
  }
  expect(await breakAndAudit(paid!.callId, { state: 'released', transaction: null })).toContain(paid!.callId)
  expect(await breakAndAudit(paid!.callId, { amountPico: paid!.amountPico + 1_000_000n })).toContain(
    paid!.callId,
  )
  expect(await breakAndAudit(free!.callId, { state: 'settled', transaction: '0x1' })).toContain(free!.callId)
})
