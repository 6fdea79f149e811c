import { Pool } from 'undici'
import { type Exchange, PooledExchange, type ResponseReceiver, type TransportRequest } from './exchange.ts'
import { ReadingTurns } from './reading-turns.ts'

export type Transport = ReturnType<typeof createTransport>

const MAX_POOLS = 512

/**
 * HTTP to the providers: a pool of kept connections per origin. What happens to one request, its deadlines,
 * bounds and failures, is in exchange.ts. The only file that knows undici.
 *
 * A pool has no limit of its own: the worker's concurrency bounds its requests. A request is dialled or sent at once,
 * so its connect limit measures the provider and never a queue of ours.
 */
export function createTransport({ connectTimeoutMs }: { connectTimeoutMs: number }) {
  const pools = new Map<string, Pool>()
  const targets = new Map<string, { pool: Pool; path: string }>()
  const turns = new ReadingTurns()

  const poolOf = (origin: string): Pool => {
    let pool = pools.get(origin)
    if (!pool) {
      if (pools.size >= MAX_POOLS) retireOldest()
      pool = new Pool(origin, {
        connections: null,
        connectTimeout: connectTimeoutMs,
        // Our own deadlines, one timer an attempt, are finer than the parser's.
        headersTimeout: 0,
        bodyTimeout: 0,
        allowH2: false,
      })
      pools.set(origin, pool)
    }
    return pool
  }
  const retireOldest = (): void => {
    const [origin, pool] = pools.entries().next().value!
    pools.delete(origin)
    for (const [url, target] of targets) if (target.pool === pool) targets.delete(url)
    // A closing pool finishes what it has; whatever goes wrong then is reported to those requests.
    pool.close().catch(() => pool.destroy())
  }
  const targetOf = (url: string) => {
    let target = targets.get(url)
    if (!target) {
      const { origin, pathname, search } = new URL(url)
      target = { pool: poolOf(origin), path: pathname + search }
      targets.set(url, target)
    }
    return target
  }

  return {
    /** `receive` makes the receiver of the response; it is called at once. */
    post(request: TransportRequest, receive: (exchange: Exchange) => ResponseReceiver): void {
      const { pool, path } = targetOf(request.url)
      const exchange = new PooledExchange(request, receive, turns)
      if (exchange.isOpen) {
        pool.dispatch({ path, method: 'POST', headers: request.headers, body: request.body }, exchange)
      }
    },
    async close(): Promise<void> {
      await Promise.all([...pools.values()].map((pool) => pool.destroy()))
      pools.clear()
      targets.clear()
    },
  }
}
