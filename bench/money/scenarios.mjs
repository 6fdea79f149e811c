import { call, pause, settled } from './client.mjs'
import { COMPLETION_USD, priceOf } from './judge.mjs'

const COST = priceOf(50)
const statuses = (results) => results.map(({ status }) => status).join(' ')

/** One call with a directive, whose right price is that of `tokens`. */
const oneCall =
  (directive, tokens = 50, options = {}) =>
  async ({ gateway }) => {
    const account = await gateway.open(5)
    const result = await call(gateway, account.key, { tokens, ...directive }, options)
    const right = priceOf(tokens)
    return { right, spent: await settled(gateway, account, right), detail: `status ${result.status}` }
  }

/** A call under way: its first token has come once `begun` resolves. */
function begin(gateway, account, directive) {
  const { promise: begun, resolve } = Promise.withResolvers()
  const running = call(gateway, account.key, directive, { onToken: resolve })
  return { running, begun: Promise.race([begun, running]) }
}

/** Calls that end, and at their last token a part dies by SIGKILL; it is started again. */
const killDuring =
  (part) =>
  async ({ gateway, provider }) => {
    if (!gateway.parts.includes(part)) return { skipped: `it has no ${part} of its own` }
    const account = await gateway.open(5)
    let restart
    const last = (received) => {
      if (received >= 49) restart ??= gateway.kill(part)
    }
    const results = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        call(gateway, account.key, { tokens: 50, delayMs: 20 }, { instance: index, onToken: last }),
      ),
    )
    await (restart ?? gateway.kill(part)).then((start) => start())
    // What the provider made it bills, whatever the client got of it.
    const made = results.reduce((sum, { id }) => sum + provider.tokensOf(id), 0)
    const received = results.reduce((sum, result) => sum + result.received, 0)
    const right = [priceOf(received), priceOf(made)]
    return {
      right,
      spent: await settled(gateway, account, right),
      detail: `statuses ${statuses(results)}, ${received} of ${made} tokens received`,
    }
  }

/** @type {Array<{name: string, right: string, why: string, run: (context: object) => Promise<any>}>} */
export const SCENARIOS = [
  {
    name: 'thirty calls on the balance of one',
    right: 'one call is served, 29 are refused; the balance is never exceeded',
    why: 'checks against a balance that is read before and written after a call let all thirty through',
    async run({ gateway }) {
      const account = await gateway.open(0.5)
      const results = await Promise.all(
        Array.from({ length: 30 }, (_, index) =>
          call(gateway, account.key, { tokens: 400, delayMs: 2 }, { instance: index }),
        ),
      )
      const served = results.filter(({ status, complete }) => status === 200 && complete).length
      const right = priceOf(400)
      return {
        right,
        spent: await settled(gateway, account, priceOf(400 * Math.max(served, 1))),
        detail: `${served} served`,
      }
    },
  },
  {
    name: 'a client hangs up after 20 of 200 tokens',
    right: 'what the provider made until it was told is charged: at least what was received',
    why: 'the provider bills what it made; a gateway that charges nothing gives it away to whoever hangs up',
    async run({ gateway, provider }) {
      const account = await gateway.open(5)
      const { id, received } = await call(
        gateway,
        account.key,
        { tokens: 200, delayMs: 20 },
        { hangUpAfter: 20 },
      )
      await pause(5_000)
      const made = provider.tokensOf(id)
      const right = [priceOf(received), priceOf(made)]
      return {
        right,
        spent: await settled(gateway, account, right),
        detail: `${received} received, ${made} made`,
      }
    },
  },
  ...['gateway', 'worker', 'store'].map((part) => ({
    name: `kill -9 of the ${part} during settlement`,
    right:
      'every call is charged once, for at least what the client received and at most what the provider made',
    why: 'a charge that is held in memory until later is lost, and one that is sent again without a key is doubled',
    run: killDuring(part),
  })),
  {
    name: 'the store is away at start',
    right: 'nothing is served while nobody can know the balance; afterwards calls work and are charged',
    why: 'a gateway that fails open serves without charging for as long as its store is away',
    async run({ gateway }) {
      const account = await gateway.open(5)
      const startGateway = await gateway.kill('gateway')
      const startStore = await gateway.kill('store')
      const started = startGateway().then(
        () => true,
        () => false,
      )
      await pause(gateway.startMs)
      const during = await call(gateway, account.key, { tokens: 50 })
      await startStore()
      // A supervisor starts again what ended without its store.
      if ((await Promise.race([started, pause(gateway.startMs)])) === false) await startGateway()
      await gateway.ready()
      const after = await call(gateway, account.key, { tokens: 50 })
      const right = COST
      const problem =
        during.status === 200
          ? 'served while the store was away'
          : after.status !== 200
            ? 'not served after it was back'
            : undefined
      return {
        right,
        spent: await settled(gateway, account, right),
        detail: `${during.status} during, ${after.status} after`,
        problem,
      }
    },
  },
  {
    name: 'five sends with one idempotency key',
    right: 'one charge',
    why: 'clients send again after a timeout, and pay twice for one answer',
    async run({ gateway }) {
      const account = await gateway.open(5)
      const headers = { 'idempotency-key': `retry-${account.id}` }
      const send = (instance) =>
        call(
          gateway,
          account.key,
          { id: `retry-${account.id}`, tokens: 50 },
          { headers, instance, stream: false },
        )
      const results = [await send(0), ...(await Promise.all([1, 2, 0, 1].map(send)))]
      const spent = await settled(gateway, account, COST)
      return { right: COST, spent, detail: `statuses ${statuses(results)}` }
    },
  },
  {
    name: 'usage absurd',
    right: 'what was made: never more than max_tokens allow',
    why: 'a provider that reports 987,654,321 tokens would empty any balance',
    run: oneCall({ usage: 'absurd' }),
  },
  {
    name: 'usage late',
    right: 'what the usage says, although it comes after the finish reason',
    why: 'a gateway that ends with the finish reason never sees the usage',
    run: oneCall({ usage: 'late' }),
  },
  {
    name: 'usage missing',
    right: 'what was made, by a count of its own',
    why: 'no usage is not a free call',
    run: oneCall({ usage: 'missing' }),
  },
  {
    name: 'usage overlapping',
    right: 'the last running total',
    why: 'a gateway that adds up running totals charges a multiple',
    run: oneCall({ usage: 'overlapping' }),
  },
  {
    name: 'a preamble of the provider',
    right: 'what was made; comments, empty chunks and a usage of 0 before it count for nothing',
    why: 'the first usage of a stream is not its last',
    run: oneCall({ preamble: true }),
  },
  {
    name: 'a price changes in flight',
    right: 'the price at which the call began',
    why: 'the customer agreed to the price when they sent the call',
    async run({ gateway }) {
      const account = await gateway.open(5)
      const { running, begun } = begin(gateway, account, { tokens: 50, delayMs: 200 })
      await begun
      await gateway.setPrice(COMPLETION_USD * 3)
      const { status } = await running
      const spent = await settled(gateway, account, COST)
      await gateway.setPrice(COMPLETION_USD)
      return { right: COST, spent, detail: `status ${status}` }
    },
  },
  {
    name: 'a refund during a call',
    right: 'what is paid back and what is spent are together no more than the balance',
    why: 'money that a running call may still need is not there to pay back',
    async run({ gateway }) {
      const account = await gateway.open(1)
      const { running, begun } = begin(gateway, account, { tokens: 400, delayMs: 25 })
      await begun
      const refunded = await gateway.refund(account, 0.9)
      const { status } = await running
      const right = priceOf(400)
      const spent = await settled(gateway, account, right)
      const problem =
        spent + refunded > 1.002 ? `${(spent + refunded).toFixed(3)} USD of a balance of 1` : undefined
      return { right, spent, detail: `status ${status}, ${refunded} refunded`, problem }
    },
  },
]
