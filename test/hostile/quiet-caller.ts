import { setTimeout as delay } from 'node:timers/promises'
import { expect } from 'vitest'
import { type ConsoleClient, signedUp } from '../helpers/console-client.ts'
import type { TestStack } from '../helpers/stack.ts'

/** Models of the stack for the quiet caller; of the second the gateway counts the tokens, as the provider does not. */
export const QUIET_MODELS = {
  'test/quiet': [{ at: 'alpha', model: 'words-12.latency-20' }],
  'test/counted': [{ at: 'alpha', model: 'words-12.latency-20.missing-usage' }],
}

/**
 * The longest turn that an attack may make an event loop of the gateway take, in ms of the processor's time. Attacks
 * that are worked off in one turn take 4 to 25 s of it.
 */
const TURN_BOUND_MS = 1_500

const PAUSE_MS = 100
/** How often everything is asked for without an attack, for comparison. */
const ALONE_ROUNDS = 25
/** Only a caller who is not served at all waits so long, on a machine however busy. */
const ASK_TIMEOUT_MS = 90_000

/** Somebody who uses the gateway in the ordinary way, with an account of their own. */
export interface QuietCaller {
  /** Asks for everything over and over until `attack` is over; expects no failure, and that no event loop stood still. */
  isServedWhile(attack: Promise<unknown>): Promise<void>
  /** Resolves when everything that was asked for from now on has been served. */
  servedAgain(): Promise<void>
}

/** A new account, with its session and key. */
export async function quietCaller(stack: TestStack): Promise<QuietCaller> {
  const [{ key }, client] = await Promise.all([stack.account('5.00'), signedUp(stack.url)])
  const asks = requests(stack.url, key, client)
  const served = asks.map(() => 0)
  const timed = async (ask: () => Promise<void>): Promise<number> => {
    const startedAt = performance.now()
    await ask()
    return performance.now() - startedAt
  }
  const parts = { api: stack.apis[0]!, dispatch: stack.dispatch[0]!, settlement: stack.settlement }
  const longestTurns = async () =>
    Promise.all(
      Object.entries(parts).map(
        async ([name, part]) => [name, Math.round(await part.longestTurnMs())] as const,
      ),
    )
  const measuredAlone = async () => {
    const rounds = Array.from({ length: ALONE_ROUNDS })
    const series = asks.map(async (ask) => {
      const took: number[] = []
      for (const _ of rounds) took.push(await timed(ask))
      return took
    })
    return (await Promise.all(series)).flat()
  }
  // The first call of a key and of a session reads PostgreSQL; a model is measured once it has answered.
  await Promise.all(asks.map((ask) => ask()))
  return {
    async isServedWhile(attack) {
      const alone = process.env.HOSTILE_REPORT ? await measuredAlone() : []
      const beside: number[] = []
      let isOver = false
      const attacking = attack.finally(() => {
        isOver = true
      })
      await longestTurns()
      await Promise.all([
        attacking,
        ...asks.map(async (ask, index) => {
          do {
            beside.push(await timed(ask))
            served[index]! += 1
            await delay(PAUSE_MS)
          } while (!isOver)
        }),
      ])
      const turns = await longestTurns()
      if (process.env.HOSTILE_REPORT) {
        const [before, during] = [percentile99(alone), percentile99(beside)]
        const p99 = { aloneMs: before, besideMs: during, ratio: Math.round((10 * during) / before) / 10 }
        console.error(expect.getState().currentTestName, p99, turns)
      }
      expect(turns.filter(([, ms]) => ms > TURN_BOUND_MS)).toEqual([])
    },
    async servedAgain() {
      // One that is under way was asked for before.
      const enough = served.map((count) => count + 2)
      while (served.some((count, index) => count < enough[index]!)) await delay(PAUSE_MS)
    },
  }
}

function percentile99(milliseconds: readonly number[]): number {
  const sorted = milliseconds.toSorted((a, b) => a - b)
  return Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? 0)
}

/** What a quiet caller asks for, one at a time each. Throws when it failed. */
function requests(url: string, key: string, client: ConsoleClient): Array<() => Promise<void>> {
  const asked = async (what: string, response: Promise<Response>): Promise<void> => {
    const { status, body } = await response.then(async (answer) => ({
      status: answer.status,
      body: await answer.text(),
    }))
    expect({ what, status, body }).toMatchObject({ what, status: 200 })
  }
  const signal = () => AbortSignal.timeout(ASK_TIMEOUT_MS)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const call = (model: string) => () => {
    const body = JSON.stringify({
      model,
      max_tokens: 30,
      messages: [{ role: 'user', content: 'Good morning.' }],
    })
    return asked(
      model,
      fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body, signal: signal() }),
    )
  }
  return [
    () => asked('/healthz', fetch(`${url}/healthz`, { signal: signal() })),
    () => asked('a report', client.ask('/console/api/calls', { signal: signal() })),
    ...Object.keys(QUIET_MODELS).map(call),
  ]
}
