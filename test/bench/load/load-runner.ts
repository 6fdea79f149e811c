import { fork } from 'node:child_process'
import { once } from 'node:events'
import type { LoadResult, Scenario } from './load-scenario.ts'

export interface LoadRunner {
  readonly pid: number
  run(scenario: Scenario): Promise<LoadResult>
  stop(): Promise<void>
}

/** Starts the load generator in a process of its own. */
export function startLoadRunner(): LoadRunner {
  const child = fork(new URL('./load-process.ts', import.meta.url), { serialization: 'advanced' })
  const ended = once(child, 'exit')
  return {
    pid: child.pid ?? 0,
    async run(scenario) {
      child.send(scenario)
      const answer = await Promise.race([
        once(child, 'message'),
        ended.then(() => {
          throw new Error('the load generator ended')
        }),
      ])
      const [message] = answer as [{ result: LoadResult } | { error: string }]
      if ('error' in message) throw new Error(`the load generator failed: ${message.error}`)
      return message.result
    },
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}
