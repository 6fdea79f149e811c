import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startStack, type TestStack } from '../helpers/stack.ts'

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const page = read('docs/scaling.md')

/** Redis and PostgreSQL connections of a process, as its row of the page says. */
function budgetOf(process: string): { redis: number; postgres: number; pools: number[] } {
  const row = new RegExp(`^\\| ${process} \\| (\\d+)[^|]*\\| (\\d+): ([^|]*) \\|$`, 'm').exec(page)
  if (!row) throw new Error(`no row of ${process} in docs/scaling.md`)
  const pools = Array.from(row[3]!.matchAll(/\d+/g), ([size]) => Number(size))
  return { redis: Number(row[1]), postgres: Number(row[2]), pools }
}

let stack: TestStack
beforeAll(async () => {
  stack = await startStack()
})
afterAll(() => stack.close())

/** Connections to Redis by process; `others` are of none, without that of this test. */
async function countConnections() {
  const list = (await stack.redis.client('LIST')) as string
  const names = Array.from(list.matchAll(/ name=(\S*)/g), ([, name = '']) => name)
  /** BullMQ's name of the connection of a worker of a queue. */
  const ofWorker = (queue: string) => `:${Buffer.from(queue).toString('base64')}`
  const count = (...texts: string[]) =>
    names.filter((name) => texts.some((text) => name.startsWith(text) || name.endsWith(text))).length
  const api = count('shuntyard-api-')
  const dispatch = count('shuntyard-dispatch-', ofWorker('dispatch'))
  const ofQueues = ['settlement', 'events', 'catalog'].map(ofWorker)
  const settlement = count('shuntyard-settlement', 'shuntyard-events-', ...ofQueues)
  return { api, dispatch, settlement, others: names.length - 1 - api - dispatch - settlement }
}

test('each process has as many connections to Redis as docs/scaling.md says', async () => {
  await expect.poll(countConnections).toEqual({
    api: budgetOf('API instance').redis,
    dispatch: budgetOf('dispatch worker').redis,
    settlement: budgetOf('settlement process').redis,
    others: 0,
  })
})

/** The sizes of the pools that sources open, by their names; those without a size have the default. */
function poolsIn(...paths: string[]): Map<string, number> {
  const text = paths.map(read).join('\n')
  const byDefault = Number(
    /max: options\.poolSize \?\? (\d+)/.exec(read('src/platform/postgres/postgres.ts'))![1],
  )
  const opened = text.matchAll(/connections\.postgres\('([\w-]+)'(?:, (\{[^}]*\}|[A-Z_]+))?/g)
  return new Map(
    Array.from(opened, ([, name = '', options = '']) => {
      const constant = new RegExp(`const ${options || '-'} = (\\{[^}]*\\})`).exec(text)?.[1]
      return [name, Number(/poolSize: (\d+)/.exec(constant ?? options)?.[1] ?? byDefault)]
    }),
  )
}

test('the pools of PostgreSQL are as large as docs/scaling.md says', () => {
  const bodies = Number(/POOL = \{ poolSize: (\d+)/.exec(read('src/calls/protocol/call-bodies.ts'))![1])
  const sizes = {
    'API instance': [...poolsIn('src/compose/api.ts').values(), bodies],
    'dispatch worker': [...poolsIn('src/compose/dispatch.ts').values(), bodies],
    'settlement process': [...poolsIn('src/compose/settlement.ts', 'workers/events/events-part.ts').values()],
  }
  for (const [process, pools] of Object.entries(sizes)) {
    const budget = budgetOf(process)
    expect(budget.pools, process).toEqual(pools)
    expect(budget.postgres).toBe(pools.reduce((sum, size) => sum + size))
  }
})
