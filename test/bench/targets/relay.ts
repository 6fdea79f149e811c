import { fork } from 'node:child_process'
import { once } from 'node:events'
import { COMPLETIONS_PATH } from '../bench-catalog.ts'
import type { Target } from './target.ts'

/** Starts the plain relay to the provider at an origin, in a process of its own. */
export async function startRelay(providerOrigin: string): Promise<Target> {
  const child = fork(new URL('./relay-process.ts', import.meta.url), [providerOrigin])
  const ended = once(child, 'exit')
  const [port] = await Promise.race([once(child, 'message'), ended.then(() => Promise.reject(relayEnded()))])
  return {
    name: 'relay',
    url: `http://127.0.0.1:${port}${COMPLETIONS_PATH}`,
    headers: {},
    processes: new Map([['relay', child.pid ?? 0]]),
    async stop() {
      child.disconnect()
      await ended
    },
  }
}

const relayEnded = () => new Error('the relay ended before it was ready')
