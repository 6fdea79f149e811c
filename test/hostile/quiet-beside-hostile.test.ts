import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { formatApiKey } from '../../src/core/accounts/api-key.ts'
import { testStack } from '../helpers/resources.ts'
import {
  LONG_BODIES,
  largePng,
  longWords,
  multiplyingSchema,
  rareCharacters,
  UNREPAIRABLE,
} from './bodies.ts'
import { connection, type HostileCaller, hostileCaller, readSome, send, statusOf } from './hostile-caller.ts'
import { QUIET_MODELS, type QuietCaller, quietCaller } from './quiet-caller.ts'

/*
 * One caller of a gateway attacks it with what an account with free credit, or a stranger, can send; another calls
 * as usual and must not notice. Everything but the simulated providers runs as processes of their own.
 */

const CHEAP = {
  list_price: { prompt: '0.02', completion: '0.02' },
  rate: { prompt: '0.01', completion: '0.01' },
  context_length: 4_000_000,
  max_output_tokens: 200_000,
}
const cheap = (model: string, more: Record<string, unknown> = {}) => ({
  ...CHEAP,
  ...more,
  offers: [{ at: 'alpha', model, cost: '0.005' }],
})

let quiet: QuietCaller
let hostile: HostileCaller
/** Resolves when all half requests have been cut off; they are there while the other attacks go on. */
let halfRequests: Promise<unknown>

const stack = testStack({
  processes: true,
  environment: {
    FREE_CREDIT_USD: '5.00',
    FREE_CREDIT_BUDGET_USD: '1000.00',
    // As long as a body of 31 MB may take on a busy machine.
    BODY_TIMEOUT_MS: '45000',
    // The provider of these tests shares a process with who reads its streams, and outruns it.
    SLOW_CLIENT_BUFFER_BYTES: String(8 * 1024 * 1024),
    TOKENS_PER_MINUTE: '1000000000',
    STRIPE_SECRET_KEY: 'sk_test_of_nobody',
    STRIPE_WEBHOOK_SECRET: 'whsec_of_nobody',
    STRIPE_API_BASE: 'http://127.0.0.1:9',
  },
  models: {
    ...QUIET_MODELS,
    'test/slow': cheap('words-4000.rate-20'),
    'test/flood': cheap('words-9999.burst-50'),
    'test/echo': cheap('echo.burst-500.missing-usage'),
    'test/image': cheap('words-5', { input_modalities: ['text', 'image'] }),
    'test/schema': {
      ...CHEAP,
      offers: [{ at: 'epsilon', model: 'words-5', wire: 'google-generate-content', cost: '0.005' }],
    },
  },
})
beforeAll(async () => {
  const { key } = await stack.account('1.00')
  const heads = [
    'POST /v1/chat/completions HTTP/1.1\nhost: a\ncontent-le',
    `POST /v1/chat/completions HTTP/1.1\nhost: a\nauthorization: Bearer ${key}\ncontent-type: application/json\ncontent-length: 1000\n\n{"mod`,
  ]
  const sockets = await times(600, (index) => connection(stack.url, heads[index % 2]!))
  halfRequests = Promise.all(
    sockets.map((socket) => {
      socket.resume().once('end', () => socket.destroy())
      return new Promise((resolve) => socket.once('close', resolve))
    }),
  )
})
beforeEach(async () => {
  ;[quiet, hostile] = await Promise.all([quietCaller(stack), hostileCaller(stack)])
})
afterEach(() => {
  for (const part of [...stack.apis, ...stack.dispatch, stack.settlement]) expect(part.isRunning()).toBe(true)
})

const say = (content: unknown, more: Record<string, unknown>) =>
  JSON.stringify({ messages: [{ role: 'user', content }], ...more })

const times = <T>(count: number, start: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => start(index)))

const countsOf = (statuses: Array<number | null>): Record<number, number> => {
  const counts: Record<number, number> = {}
  for (const status of statuses) if (status !== null) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

describe('a quiet caller is served as usual beside', () => {
  test.each(Object.entries(LONG_BODIES))('bodies of 31 MB with %s', async (_, { build, status }) => {
    const body = build()
    const statuses = times(2, () => hostile.post(body))
    await quiet.isServedWhile(statuses)
    expect(await statuses).toEqual([status, status])
  })

  test('3 MB of words for the model that scores difficulty', async () => {
    const body = say(longWords(3), { model: 'auto' })
    await quiet.isServedWhile(hostile.post(body).then((status) => expect(status).toBe(200)))
  })

  test('schemas whose references multiply', async () => {
    const schema = multiplyingSchema()
    const asFormat = say('Go.', {
      model: 'test/schema',
      response_format: { type: 'json_schema', json_schema: { name: 'a', schema } },
    })
    const asTool = say('Go.', {
      model: 'test/schema',
      tools: [{ type: 'function', function: { name: 'b', parameters: schema } }],
    })
    const statuses = times(6, (index) => hostile.post(index % 2 === 0 ? asFormat : asTool))
    await quiet.isServedWhile(statuses)
    expect(new Set(await statuses)).toEqual(new Set([400]))
  })

  test('answers that JSON repair chokes on', async () => {
    const format = { model: 'test/echo', response_format: { type: 'json_object' }, max_tokens: 100_000 }
    const statuses = times(4, (index) => hostile.post(say(UNREPAIRABLE[index % 2], format)))
    await quiet.isServedWhile(statuses)
    expect(await statuses).toEqual([200, 200, 200, 200])
  })

  test('long streams of rare characters, cancelled, whose tokens are to be counted', async () => {
    const body = say(rareCharacters(300_000), { model: 'test/echo', stream: true, max_tokens: 200_000 })
    const attack = times(2, async () => {
      const response = await hostile.stream(body)
      expect(response.statusCode).toBe(200)
      await readSome(response, 2_000_000)
      // Counting begins now.
      await quiet.servedAgain()
    })
    await quiet.isServedWhile(attack)
  })

  test('a key for a hundred thousand concurrent calls, and as many slow streams as it gets', async () => {
    const { client } = hostile
    const refused = await client.ask('/console/api/keys', {
      body: { name: 'a', customer_concurrent_calls: 100_000 },
    })
    expect(refused.status).toBe(400)
    const body = say('Go on.', { model: 'test/slow', stream: true })
    const streams = times(120, () => hostile.stream(body))
    await quiet.isServedWhile(streams.then(() => quiet.servedAgain()))
    const answers = await streams
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200, 429]))
    for (const answer of answers) answer.destroy()
  })

  test('a hundred bodies of four accounts that are announced and not sent', async () => {
    const attackers = await times(4, () => hostileCaller(stack))
    // Their keys are known from here on, however busy PostgreSQL is.
    for (const { post } of attackers) expect(await post(say('Go on.', { model: 'no/such' }))).toBe(404)
    const framings = ['content-length: 33554432', 'transfer-encoding: chunked']
    const attack = times(100, async (index) => {
      const head =
        `POST /v1/chat/completions HTTP/1.1\nhost: a\nauthorization: Bearer ${attackers[index % 4]!.key}\n` +
        `content-type: application/json\n${framings[index % 2]}\n\n`
      const socket = await connection(stack.url, head)
      const [answer] = (await once(socket, 'data')) as [Buffer]
      expect(answer.toString()).toMatch(/^HTTP\/1\.1 408 /)
      socket.destroy()
    })
    await quiet.isServedWhile(attack)
  })

  test('calls beyond a limit per minute, on sixty connections', async () => {
    const body = say('Go on.', { model: 'test/quiet', max_tokens: 5 })
    const limited = { name: 'a', customer_requests_per_minute: 60 }
    const { secret } = await hostile.client.json<{ secret: string }>('/console/api/keys', { body: limited })
    const statuses: number[] = []
    const attack = times(60, async () => {
      for (let call = 0; call < 10; call++) statuses.push(await hostile.post(body, secret))
    })
    await quiet.isServedWhile(attack)
    expect(statuses).toContain(429)
  })

  test('look-ups of calls that run, by accounts that each wait for one', async () => {
    const body = say('Go on.', { model: 'test/slow', stream: true })
    const attack = times(3, async () => {
      const attacker = await hostileCaller(stack)
      const answer = await attacker.stream(body)
      const [first] = (await once(answer, 'data')) as [Buffer]
      const { id } = JSON.parse(/^data: (.*)$/m.exec(first.toString())![1]!) as { id: string }
      const look = () => attacker.client.ask(`/console/api/calls/${id}`).then(({ status }) => status)
      const statuses = await times(6, look)
      // 503 where a machine is too busy to look the call up in time.
      for (const status of statuses) expect([404, 503]).toContain(status)
      expect(statuses).toContain(404)
      answer.destroy()
    })
    await quiet.isServedWhile(attack)
  })

  test('time zones in ever new spellings', async () => {
    const name = 'america/argentina/buenos_aires'
    const spelled = (bits: number) =>
      [...name].map((letter, index) => (bits & (1 << index) ? letter.toUpperCase() : letter)).join('')
    const attack = times(4, async (one) => {
      for (let index = 0; index < 25; index++) {
        const zone = spelled(25 * one + index)
        const answer = await hostile.client.ask(`/console/api/calls?from=2026-11-20&time_zone=${zone}`)
        expect([200, 429, 503]).toContain(answer.status)
      }
    })
    await quiet.isServedWhile(attack)
  })

  test('made-up keys', async () => {
    const attack = times(16, async () => {
      for (let index = 0; index < 20; index++) {
        const headers = { authorization: `Bearer ${formatApiKey('standard', randomBytes(32))}` }
        const answer = await send(`${stack.url}/v1/key`, { headers, address: '127.0.0.67' })
        // 503 where a machine is too busy to look the key up in time.
        expect([401, 429, 503]).toContain(await statusOf(answer))
      }
    })
    await quiet.isServedWhile(attack)
  })

  test('forged payment webhooks', async () => {
    const body = JSON.stringify({
      id: 'evt_1',
      type: 'checkout.session.completed',
      data: 'x'.repeat(500_000),
    })
    const attack = times(8, async () => {
      for (let index = 0; index < 6; index++) {
        const signature = `t=${Math.floor(Date.now() / 1_000)},v1=${randomBytes(32).toString('hex')}`
        const headers = { 'content-type': 'application/json', 'stripe-signature': signature }
        expect(await statusOf(await send(`${stack.url}/webhooks/stripe`, { headers, body }))).toBe(400)
      }
    })
    await quiet.isServedWhile(attack)
  })

  test('exports and live views that are reset before they are answered', async () => {
    const attackers = [hostile, await hostileCaller(stack), await hostileCaller(stack)]
    const attack = async () => {
      for (const { cookie, key } of attackers) {
        const heads = [
          `GET /console/api/calls.csv HTTP/1.1\nhost: a\ncookie: ${cookie}\n\n`,
          `GET /console/api/live HTTP/1.1\nhost: a\ncookie: ${cookie}\n\n`,
          `GET /v1/usage/calls?format=csv HTTP/1.1\nhost: a\nauthorization: Bearer ${key}\n\n`,
        ]
        const sockets = await times(75, (index) => connection(stack.url, heads[index % heads.length]!))
        for (const socket of sockets) socket.resetAndDestroy()
      }
    }
    await quiet.isServedWhile(attack())
    // Also those who left have their reports again.
    for (const { client } of attackers) {
      await expect.poll(async () => (await client.ask('/console/api/calls.csv')).status).toBe(200)
    }
  })

  test('streams whose clients do not read', async () => {
    const body = say('Go on.', { model: 'test/flood', stream: true, max_tokens: 100_000 })
    const head =
      `POST /v1/chat/completions HTTP/1.1\nhost: a\nauthorization: Bearer ${hostile.key}\n` +
      `content-type: application/json\ncontent-length: ${Buffer.byteLength(body)}\n\n`
    const attack = times(10, async () => {
      const socket = await connection(stack.url, head, body)
      const [begun] = (await once(socket, 'data')) as [Buffer]
      socket.pause()
      expect(begun.toString()).toMatch(/^HTTP\/1\.1 200 /)
      await quiet.servedAgain()
      socket.destroy()
    })
    await quiet.isServedWhile(attack)
  })

  test('six images of 15 MB at once, of which a key may have so many bytes in flight', async () => {
    const url = `data:image/png;base64,${largePng(15).toString('base64')}`
    const image = { type: 'image_url', image_url: { url } }
    const body = Buffer.from(
      say([{ type: 'text', text: 'a' }, image], { model: 'test/image', max_tokens: 5 }),
    )
    const statuses = times(6, () => hostile.post(body))
    await quiet.isServedWhile(statuses)
    // 503, 408 and no answer where the machine is too busy to take the rest, or to take it in time.
    const {
      200: taken = 0,
      429: refused = 0,
      503: shed = 0,
      408: late = 0,
      0: cut = 0,
    } = countsOf(await statuses)
    expect(taken).toBeGreaterThan(0)
    expect(refused).toBeGreaterThan(0)
    expect(taken + refused + shed + late + cut).toBe(6)
  })

  test('half requests of clients that close nothing, until they are cut off', () =>
    quiet.isServedWhile(halfRequests))
})
