import { Socket } from 'node:net'
import { describe, expect, test } from 'vitest'
import { createSettlementQueue } from '../../src/platform/queues/queues.ts'
import { settlementBytesKey } from '../../src/platform/queues/settlement-backlog.ts'
import { eventually } from '../helpers/eventually.ts'
import { startRedisMonitor } from '../helpers/redis-monitor.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const stack = testStack({
  environment: { CORS_ORIGINS: 'https://app.example,https://other.example' },
  models: {
    'test/plain': [{ at: 'alpha', model: 'words-12' }],
    'test/long': [{ at: 'alpha', model: 'words-4000' }],
    'test/sees': { input_modalities: ['text', 'image'], offers: [{ at: 'alpha', model: 'words-12' }] },
    'test/failover': [
      { at: 'alpha', model: 'status-500', cost: '0.10' },
      { at: 'beta', model: 'words-12', cost: '0.50' },
    ],
  },
})
const owner = testAccount(stack, '1.00')

const call = (body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  fetch(`${stack.url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Tell me about rail yards.' }], ...body }),
  })

const SOURCE_FILE = /(?:src|tools|workers)\/[\w./-]+\.ts/

/** Where JSON of so many characters and more is parsed and written in this process while something runs. */
async function longJson(chars: number, run: () => Promise<void>) {
  const { parse, stringify } = JSON
  const found = { parsed: [] as string[], written: [] as string[] }
  const placeOfCaller = () => SOURCE_FILE.exec(new Error().stack!)?.[0] ?? 'unknown'
  JSON.parse = (text: string, ...more: []) => {
    if (text.length >= chars) found.parsed.push(placeOfCaller())
    return parse(text, ...more)
  }
  JSON.stringify = (value: unknown, ...more: []) => {
    const text = stringify(value, ...more)
    if (text?.length >= chars) found.written.push(placeOfCaller())
    return text
  }
  try {
    await run()
  } finally {
    Object.assign(JSON, { parse, stringify })
  }
  return { parsed: found.parsed.sort(), written: found.written.sort() }
}

/** Bytes that Redis received and sent so far. */
async function redisBytes() {
  const info = await stack.redis.info('stats')
  const figure = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1])
  return { received: figure('total_net_input_bytes'), sent: figure('total_net_output_bytes') }
}

interface ScriptRun {
  /** Itself and the commands inside it. */
  commands: number
  /** Of its arguments. */
  bytes: number
  text: string
}

/** The scripts that Redis runs while something runs. */
async function scriptsDuring(run: () => Promise<void>): Promise<ScriptRun[]> {
  const scripts: ScriptRun[] = []
  const monitor = await startRedisMonitor(stack.redisServer.url, (args, isInScript) => {
    const text = args.join(' ')
    const last = scripts.at(-1)
    if (isInScript && last) {
      last.commands += 1
      last.text += ` ${text}`
    } else if (args[0]?.startsWith('eval')) {
      scripts.push({ commands: 1, bytes: args.reduce((sum, arg) => sum + arg.length, 0), text })
    }
  })
  try {
    await run()
  } finally {
    await monitor.stop()
  }
  return scripts
}

interface SocketWriter {
  localPort?: number
  remotePort?: number
  _writeGeneric(...parameters: unknown[]): unknown
}

/** How often sockets of the API's port and to the provider's are written to while something runs. */
async function writesDuring(run: () => Promise<void>) {
  const counts = { toClient: 0, toProvider: 0 }
  const sockets = Socket.prototype as unknown as SocketWriter
  const { _writeGeneric: write } = sockets
  const [apiPort, providerPort] = [stack.url, stack.providers.url].map((url) => Number(new URL(url).port))
  sockets._writeGeneric = function (...parameters) {
    if (this.localPort === apiPort) counts.toClient++
    if (this.remotePort === providerPort) counts.toProvider++
    return write.apply(this, parameters)
  }
  try {
    await run()
  } finally {
    sockets._writeGeneric = write
  }
  return counts
}

describe('one call through the whole gateway', () => {
  test('is answered in one piece and charged exactly', async () => {
    const response = await call({ model: 'test/plain' })
    expect(response.status).toBe(200)
    const body = JSON.parse(await response.text())
    expect(body).toMatchObject({
      object: 'chat.completion',
      model: 'test/plain',
      choices: [{ index: 0, message: { role: 'assistant' }, finish_reason: 'stop' }],
    })
    expect(body.id).toMatch(/^chatcmpl_[0-9A-Z]{26}$/)
    await stack.settled(owner.accountId)
    const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: body.id } })
    const { prompt_tokens: prompt, completion_tokens: completion } = body.usage
    expect(record.chargePico).toBe(BigInt(prompt) * 1_000_000n + BigInt(completion) * 2_000_000n)
    expect(record.chargePico).toBeLessThanOrEqual(record.holdPico)
  })

  test('with a long body: its JSON is parsed once on each side of the queue and never written, its bytes are once in Redis', async () => {
    const content = 'Tell me "all" about rail yards.\n'.repeat(2_000)
    const messages = ['user', 'assistant', 'user'].map((role) => ({ role, content }))
    const body = JSON.stringify({ model: 'test/plain', messages, max_tokens: 8 })
    const before = await redisBytes()
    const counted = await longJson(body.length * 0.8, async () => {
      const response = await fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
        body,
      })
      expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 })
    })
    const after = await redisBytes()
    expect(counted).toEqual({
      parsed: [
        'src/core/calls/call-body.ts',
        'src/core/json/client-json.ts',
        // What the simulated provider reads.
        'tools/simulated-providers/start-simulated-providers.ts',
      ],
      written: [],
    })
    // Base64 would take a third more.
    expect((after.received - before.received) / body.length, 'bytes to Redis').toBeLessThan(1.2)
    expect((after.sent - before.sent) / body.length, 'bytes from Redis').toBeLessThan(1.2)
    await stack.settled(owner.accountId)
  })

  test('with a picture: its base64 is no part of JSON that is parsed or written, and is in Redis once', async () => {
    const url = `data:image/png;base64,${Buffer.alloc(300_000, 'picture').toString('base64')}`
    const content = [
      { type: 'text', text: 'What is "this"?' },
      { type: 'image_url', image_url: { url } },
    ]
    const body = JSON.stringify({ model: 'test/sees', messages: [{ role: 'user', content }], max_tokens: 8 })
    stack.providers.log.clear()
    const before = await redisBytes()
    const counted = await longJson(10_000, async () => {
      const response = await fetch(`${stack.url}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${owner.key}`, 'content-type': 'application/json' },
        body,
      })
      expect({ status: response.status, text: await response.text() }).toMatchObject({ status: 200 })
    })
    const after = await redisBytes()
    // What the simulated provider reads.
    const parsed = ['tools/simulated-providers/start-simulated-providers.ts']
    expect(counted).toEqual({ parsed, written: [] })
    expect(stack.providers.log.requests.at(-1)?.body).toMatchObject({ messages: [{ content }] })
    expect((after.received - before.received) / body.length, 'bytes to Redis').toBeLessThan(1.2)
    expect((after.sent - before.sent) / body.length, 'bytes from Redis').toBeLessThan(1.2)
    await stack.settled(owner.accountId)
  })

  test('with a long answer: its JSON is written and parsed once between the processes, and written once for its client', async () => {
    let text = ''
    const before = await redisBytes()
    const counted = await longJson(15_000, async () => {
      const response = await call({ model: 'test/long', max_tokens: 4_000 })
      text = await response.text()
    })
    const after = await redisBytes()
    expect(text.length).toBeGreaterThan(20_000)
    expect(counted).toEqual({
      parsed: ['src/core/calls/frames.ts'],
      written: ['src/calls/worker/finish-calls.ts', 'src/http/calls/chat-format.ts'],
    })
    // A second copy would make it 2 at least; heartbeats of a slow machine come on top of one.
    expect((after.received - before.received) / text.length, 'bytes to Redis').toBeLessThan(2)
    expect((after.sent - before.sent) / text.length, 'bytes from Redis').toBeLessThan(2)
    await stack.settled(owner.accountId)
  })

  test('alone runs so many commands of Redis: admission, claim, end, and its settlement', async () => {
    // Redis has the scripts then.
    await (await call({ model: 'test/plain' })).text()
    await stack.settled(owner.accountId)
    let id = ''
    const scripts = await scriptsDuring(async () => {
      id = JSON.parse(await (await call({ model: 'test/plain' })).text()).id
      await stack.settled(owner.accountId)
    })
    // Without renewals of its lock, which come with time.
    const naming = (one: string) =>
      scripts.filter(({ text }) => text.includes(one) && !text.split(' ', 4)[3]!.endsWith(':stalled'))
    const settlement = /settle_[0-9A-Z]{26}/.exec(
      naming(id)
        .map(({ text }) => text)
        .join(),
    )![0]
    // By the script and its first key, since a step may be sent again.
    const ofCall = new Map(
      [...naming(id), ...naming(settlement)].map((script) => [script.text.split(' ', 4).join(), script]),
    )
    const runs = scripts.filter((script) => [...ofCall.values()].includes(script))
    expect(runs.map(({ commands }) => commands)).toEqual([9, 8, 16, 9, 4, 8])
    expect(runs.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(3_400)
  })

  test('is written to a socket once on each side', async () => {
    const writes = await writesDuring(async () => {
      await (await call({ model: 'test/plain' })).text()
    })
    expect(writes).toEqual({ toClient: 1, toProvider: 1 })
  })

  test('is refused at once while too many calls wait to be settled, and taken again afterwards', async () => {
    // Nothing is settled: the count begins anew when nothing waits.
    const settlement = createSettlementQueue(stack.redis)
    await stack.settled(owner.accountId)
    await settlement.pause()
    await stack.redis.set(settlementBytesKey(0), 3 * 2 ** 30)
    const refused = await eventually(async () => {
      const response = await call({ model: 'test/plain' })
      expect(response.status).toBe(503)
      return response
    })
    expect(refused.headers.get('retry-after')).toBe('10')
    expect(await refused.json()).toMatchObject({ error: { code: 'overloaded' } })
    await stack.redis.del(settlementBytesKey(0))
    await settlement.resume()
    await settlement.close()
    await eventually(async () => expect((await call({ model: 'test/plain' })).status).toBe(200))
  })

  test('is streamed and ends with [DONE]', async () => {
    const response = await call({ model: 'test/plain', stream: true })
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const text = await response.text()
    const chunks = text.split('\n\n').filter(Boolean)
    expect(chunks.at(-1)).toBe('data: [DONE]')
    const content = chunks
      .slice(0, -1)
      .map((chunk) => JSON.parse(chunk.slice(6)).choices[0].delta.content ?? '')
      .join('')
    const whole = JSON.parse(await (await call({ model: 'test/plain' })).text())
    expect(content).toBe(whole.choices[0].message.content)
  })

  test.each([
    { how: 'in one piece', stream: false },
    { how: 'streamed', stream: true },
  ])('fails over to the second provider without a trace of the first, $how', async ({ stream }) => {
    const received = (provider: string) =>
      stack.providers.log.requests.filter((request) => request.provider === provider).length
    const plain = await call({ model: 'test/plain', stream })
    const plainText = normalized(await plain.text())
    stack.providers.log.clear()
    const response = await call({ model: 'test/failover', stream, provider: { order: ['alpha', 'beta'] } })
    const text = await response.text()
    expect([received('alpha'), received('beta')]).toEqual([1, 1])
    expect(response.status).toBe(200)
    expect(normalized(text)).toBe(plainText)
    expect([...response.headers.keys()]).toEqual([...plain.headers.keys()])
    expect(`${text} ${JSON.stringify([...response.headers])}`).not.toMatch(/alpha|status-500|simulated/)
  })
})

/** What two calls of the same text differ in by right. */
const normalized = (text: string): string =>
  text
    .replaceAll(/chatcmpl_[0-9A-Z]{26}/g, 'chatcmpl_ID')
    .replaceAll(/"created":\d{10}\b/g, '"created":0')
    .replaceAll(/"model":"[^"]*"/g, '"model":"MODEL"')

describe('a page of another origin', () => {
  const preflight = (origin: string, path = '/v1/chat/completions') =>
    fetch(stack.url + path, {
      method: 'OPTIONS',
      headers: {
        origin,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type',
      },
    })

  test('may call models where the operator allows it, whole and streamed', async () => {
    const origin = 'https://app.example'
    const asked = await preflight(origin)
    expect(asked.status).toBe(204)
    expect(asked.headers.get('access-control-allow-origin')).toBe(origin)
    expect(asked.headers.get('access-control-allow-headers')).toContain('authorization')
    expect(asked.headers.get('access-control-allow-credentials')).toBeNull()
    for (const stream of [false, true]) {
      const answer = await call({ model: 'test/plain', stream }, { origin })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin)
      const exposed = answer.headers.get('access-control-expose-headers')
      for (const name of ['x-request-id', 'x-completion-limit']) expect(exposed).toContain(name)
      await answer.text()
    }
    const refused = await call({ model: 'test/plain' }, { origin, authorization: 'Bearer sk-sy-none' })
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, origin])
  })

  test('is not allowed anywhere else, and learns nothing of paths that are closed', async () => {
    expect((await preflight('https://evil.example')).headers.get('access-control-allow-origin')).toBeNull()
    const console = await preflight('https://app.example', '/console/api/session')
    expect(console.headers.get('access-control-allow-origin')).toBeNull()
    const [open, closed, unknown] = await Promise.all(
      ['/v1/chat/completions', '/v1/files', '/v1/nothing'].map((path) =>
        preflight('https://app.example', path),
      ),
    )
    const told = ({ status, headers }: Response) => [status, headers.get('access-control-allow-origin')]
    expect(told(closed!)).toEqual(told(open!))
    expect(told(unknown!)).toEqual(told(open!))
  })

  test('an OPTIONS that is no preflight is a method like others', async () => {
    const answer = await fetch(`${stack.url}/v1/chat/completions`, { method: 'OPTIONS' })
    expect(answer.status).toBe(401)
  })
})
