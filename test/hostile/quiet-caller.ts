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
 * What the slowest request of a quiet caller may take beside an attack. An ordinary one takes some 50 ms, and up to a
 * second where the attack, its provider and the gateway share two busy processors; attacks that hold up an event loop
 * take 4 to 25 s of it.
 */
export const QUIET_BOUND_MS = 3_000

const PAUSE_MS = 50
const ASK_TIMEOUT_MS = 20_000

/** Somebody who uses the gateway in the ordinary way, with an account of their own. */
export interface QuietCaller {
  /** Asks for everything over and over until `attack` is over, and expects no failure and nothing slow. */
  isServedWhile(attack: Promise<unknown>): Promise<void>
}

/** A new account, with its session and key. */
export async function quietCaller(stack: TestStack): Promise<QuietCaller> {
  const [{ key }, client] = await Promise.all([stack.account('5.00'), signedUp(stack.url)])
  const asks = requests(stack.url, key, client)
  // The first call of a key and of a session reads PostgreSQL; a model is measured once it has answered.
  await Promise.all(asks.map((ask) => ask()))
  return {
    async isServedWhile(attack) {
      let isOver = false
      const attacking = attack.finally(() => {
        isOver = true
      })
      const slowestMs: Record<string, number> = {}
      await Promise.all([
        attacking,
        ...asks.map(async (ask) => {
          do {
            const startedAt = performance.now()
            const what = await ask()
            const ms = Math.round(performance.now() - startedAt)
            slowestMs[what] = Math.max(slowestMs[what] ?? 0, ms)
            await delay(PAUSE_MS)
          } while (!isOver)
        }),
      ])
      if (process.env.HOSTILE_REPORT) console.error(expect.getState().currentTestName, slowestMs)
      const tooSlow = Object.entries(slowestMs).filter(([, ms]) => ms > QUIET_BOUND_MS)
      expect(tooSlow).toEqual([])
    },
  }
}

/** What a quiet caller asks for, one at a time each. Resolves to what it was; throws when it failed. */
function requests(url: string, key: string, client: ConsoleClient): Array<() => Promise<string>> {
  const asked = async (what: string, response: Promise<Response>): Promise<string> => {
    const { status, body } = await response.then(async (answer) => ({
      status: answer.status,
      body: await answer.text(),
    }))
    expect({ what, status, body }).toMatchObject({ what, status: 200 })
    return what
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
