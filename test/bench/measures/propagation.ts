import { setTimeout as delay } from 'node:timers/promises'
import type { VisitorView } from '../../../src/core/api/gateway.ts'
import { type Bench, sampler } from '../bench-run.ts'
import { median } from '../load/latency-summary.ts'
import type { Sample } from '../samples.ts'
import { type GatewayTarget, isGateway } from '../targets/target.ts'

const ROUNDS_MAX = 10
/** No round of a change begins later. */
const ROUNDS_MS = 4_000
const POLL_MS = 2
/** Longer than any change takes that is not lost. */
const SEEN_WITHIN_MS = 15_000
const MODEL = 'bench/slow'

/** One change at the first instance, and whether the second one acts on it. */
interface Change {
  make(): Promise<unknown>
  isSeen(): Promise<boolean>
}

/** Sends JSON to /admin/api of the first instance; returns what it responds. */
type Operate = <T>(path: string, body?: object, method?: string) => Promise<T>

/** The time from sending a change to one API instance until another one acts on it: the median and the longest. */
export async function measurePropagation(bench: Bench): Promise<Sample[]> {
  const samples: Sample[] = []
  for (const target of bench.targets.filter(isGateway)) {
    const second = await target.gateway.start('api')
    try {
      const sampleFor = sampler(target)
      for (const [name, begin] of changes(await operator(target), second.url)) {
        const times = await timeRounds(name, begin)
        samples.push(
          sampleFor(`${name}: p50`, 'ms', median(times)),
          sampleFor(`${name}: longest`, 'ms', Math.max(...times)),
        )
      }
    } finally {
      await second.stop()
    }
  }
  return samples
}

/** Each change by name; called once a round, which has its preparations done then. */
function changes(operate: Operate, secondUrl: string): Array<[string, (round: number) => Promise<Change>]> {
  const read = async <T>(path: string, headers = {}) => {
    const response = await fetch(`${secondUrl}${path}`, { headers })
    return { status: response.status, body: (await response.json()) as T }
  }
  const newKey = async () => {
    const created = await operate<{ secret: string; key: { id: string } }>(
      '/accounts/quiet@shuntyard.local/keys',
      {
        name: 'before',
      },
    )
    const headers = { authorization: `Bearer ${created.secret}` }
    const readKey = () => read<{ name: string }>('/v1/key', headers)
    // The second instance has the key in its cache from here on.
    if ((await readKey()).status !== 200) throw new Error('a new key is refused')
    return { path: `/keys/${created.key.id}`, readKey }
  }
  return [
    [
      'revoked key refused',
      async () => {
        const { path, readKey } = await newKey()
        return {
          make: () => operate(`${path}/revoke`, {}),
          isSeen: async () => (await readKey()).status !== 200,
        }
      },
    ],
    [
      'edited key',
      async () => {
        const { path, readKey } = await newKey()
        return {
          make: () => operate(`${path}/limits`, { name: 'after' }),
          isSeen: async () => (await readKey()).body.name === 'after',
        }
      },
    ],
    [
      'catalog edit',
      async (round) => {
        const prompt = String(round + 1)
        const model = { id: MODEL, list_price: { prompt, completion: '0.40' } }
        return {
          make: () => operate('/catalog/edits', { content: { changes: { models: [model] } } }),
          isSeen: async () => {
            const { body } = await read<{ data: Array<{ id: string; list_prompt: string }> }>('/pricing.json')
            const entry = body.data.find(({ id }) => id === MODEL)
            return Number(entry?.list_prompt) === round + 1
          },
        }
      },
    ],
    [
      'setting',
      async () => {
        const isPublic = async () =>
          (await read<VisitorView>('/console/api/visitor')).body.gateway.provider_status
        const before = await isPublic()
        return {
          make: () => operate('/settings', { provider_status_public: !before }, 'PATCH'),
          isSeen: async () => (await isPublic()) !== before,
        }
      },
    ],
  ]
}

async function timeRounds(name: string, begin: (round: number) => Promise<Change>): Promise<number[]> {
  const times: number[] = []
  const endsAt = performance.now() + ROUNDS_MS
  while (times.length < ROUNDS_MAX && (times.length === 0 || performance.now() < endsAt)) {
    const { make, isSeen } = await begin(times.length)
    const startedAt = performance.now()
    const [seenAt] = await Promise.all([untilSeen(name, isSeen), make()])
    times.push(seenAt - startedAt)
  }
  return times
}

async function untilSeen(name: string, isSeen: () => Promise<boolean>): Promise<number> {
  const endsAt = performance.now() + SEEN_WITHIN_MS
  while (!(await isSeen())) {
    if (performance.now() > endsAt) throw new Error(`${name}: not seen within ${SEEN_WITHIN_MS} ms`)
    await delay(POLL_MS)
  }
  return performance.now()
}

async function operator({ url, gateway }: GatewayTarget): Promise<Operate> {
  const { key } = await gateway.operate('admin', 'admin-key', 'create', '--name', 'bench')
  return async (path, body = {}, method = 'POST') => {
    const response = await fetch(new URL(`/admin/api${path}`, url), {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`)
    return (await response.json()) as never
  }
}
