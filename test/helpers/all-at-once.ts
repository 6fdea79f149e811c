import { expect } from 'vitest'
import type { SimulatedProviders } from '../../tools/simulated-providers/start-simulated-providers.ts'

const DECIDED_WITHIN_MS = 150_000

/**
 * Makes so many calls of a `held` model at the same time, and releases those that reached their provider when every
 * other one has its answer: however slow the machine is, none ends before all were admitted or refused.
 */
export async function allAtOnce<T>(
  providers: SimulatedProviders,
  calls: number,
  make: (index: number) => Promise<T>,
): Promise<T[]> {
  let answered = 0
  const making = Promise.all(
    Array.from({ length: calls }, async (_, index) => {
      const answer = await make(index)
      answered += 1
      return answer
    }),
  )
  const held = () => providers.log.requests.filter(({ model, state }) => state === 'open' && isHeld(model))
  const decided = expect.poll(() => answered + held().length, { timeout: DECIDED_WITHIN_MS }).toBe(calls)
  // A call that fails ends the waiting.
  await Promise.race([decided, making])
  providers.release()
  return making
}

const isHeld = (model: string | null) => model?.split('.').includes('held') ?? false
