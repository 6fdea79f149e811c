import { isMainThread } from 'node:worker_threads'
import { watchLoopTurns } from './loop-turns.ts'

/* Loaded into a process of the gateway before anything else; see `longestTurnMs` of stack-part.ts. */

if (isMainThread && process.channel) {
  const longestTurnMs = watchLoopTurns()
  process.on('message', () => void process.send?.(longestTurnMs()))
  process.channel.unref()
}
