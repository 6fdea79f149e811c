import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../tools/launcher/ports.ts'
import { ask, stream } from '../helpers/chat-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'
import { type Part, spawnPart } from '../helpers/stack-part.ts'

const MODEL = 'test/plain'
let stack: TestStack
let gateway: Part
let url: string
let metricsUrl: string

beforeAll(async () => {
  stack = await startStack({ models: { [MODEL]: [{ at: 'alpha', model: 'words-12' }] } })
  const [port, metricsPort] = [await freePort(), await freePort()]
  url = `http://127.0.0.1:${port}`
  metricsUrl = `http://127.0.0.1:${metricsPort}/metrics`
  // Nobody else is there to serve or to settle.
  await Promise.all([...stack.apis, ...stack.dispatch, stack.settlement].map((part) => part.stop()))
  gateway = spawnPart('workers/main.ts', ['all'], {
    ...stack.environment,
    PORT: String(port),
    METRICS_PORT: String(metricsPort),
  })
  await eventually(async () => expect((await fetch(`${url}/readyz`)).ok).toBe(true))
})
afterAll(async () => {
  await gateway?.stop()
  await stack?.close()
})

test('API, dispatch and settlement in one process serve calls and settle them', async () => {
  const { accountId, key } = await stack.account('5.00')
  const whole = await ask({ url, key }, { model: MODEL })
  expect(whole).toMatchObject({ status: 200, finishReason: 'stop' })
  const streamed = await (await stream({ url, key }, { model: MODEL })).end
  expect(streamed).toMatchObject({ status: 200, text: whole.text, done: true })
  await stack.settled(accountId)
  const records = await stack.postgres.callRecord.findMany({ where: { accountId } })
  expect(records.map(({ status }) => status)).toEqual(['completed', 'completed'])
  expect((await stack.command('audit')).code).toBe(0)
})

test('its metrics tell the roles apart, and name each metric once', async () => {
  const text = await (await fetch(metricsUrl)).text()
  const settled = /^switchyard_settled_calls_total\{role="settlement"\} (\d+)/m.exec(text)
  expect(Number(settled?.[1])).toBeGreaterThanOrEqual(2)
  expect(text).toMatch(/^process_resident_memory_bytes\{role="all"\} \d/m)
  const named = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name)
  expect(named.filter((name, index) => named.indexOf(name) !== index)).toEqual([])
})

test('ends cleanly when it is told to', async () => {
  await gateway.stop()
  expect(await gateway.exited).toBe(0)
})
