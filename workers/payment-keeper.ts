import { randomUUID } from 'node:crypto'
import { type ReconcileDependencies, reconcilePayments } from '../src/payments/reconcile-payments.ts'
import type { Redis } from '../src/platform/redis/redis.ts'
import { lockKey } from '../src/platform/redis/redis-keys.ts'

/** Finishes what webhooks left open, every half minute, in one process of the fleet at a time. */
export interface PaymentKeeper {
  stop(): Promise<void>
}

export interface PaymentKeeperOptions extends ReconcileDependencies {
  redis: Redis
  everyMs?: number
}

const EVERY_MS = 30_000
/** A run asks rails one after another and is bounded; the lock only saves work. */
const LOCK_MS = 600_000

/** Deletes the lock if it is still ours. KEYS 1 lock; ARGV 1 token; returns the number of keys deleted. */
const RELEASE_LOCK = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`

/** Starts the keeper: a first run at once, then one `everyMs` after the last ended. */
export function startPaymentKeeper(options: PaymentKeeperOptions): PaymentKeeper {
  const { redis, logger, everyMs = EVERY_MS } = options
  let stopped = false
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  const runLocked = async (): Promise<void> => {
    const lock = lockKey('payments')
    const token = randomUUID()
    if ((await redis.set(lock, token, 'PX', LOCK_MS, 'NX')) === null) return
    try {
      const report = await reconcilePayments(options)
      if (Object.values(report).some((count) => count > 0)) logger.info(report, 'payments reconciled')
    } finally {
      await redis.eval(RELEASE_LOCK, 1, lock, token)
    }
  }
  const run = () => {
    running = runLocked()
      .catch((error: unknown) =>
        logger.error({ err: error }, 'payments could not be reconciled; tried again'),
      )
      .finally(() => {
        if (!stopped) timer = setTimeout(run, everyMs)
      })
  }
  run()
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await running
    },
  }
}
