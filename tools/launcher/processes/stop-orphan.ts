import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { isRunning, processStartTime } from '../bootstrap/process-lock.mjs'

const STEP_MS = 50
const KILL_TIMEOUT_MS = 5000

/** True when the process runs and was started with `text` in its command line. */
export function processMentions(pid: number, text: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').includes(text)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ESRCH') return false
    throw error
  }
}

/** Stops a process that outlived whoever started it; kills it after the limit. */
export async function stopOrphan(pid: number, signal: NodeJS.Signals, timeoutMs: number): Promise<void> {
  const startTime = processStartTime(pid)
  for (const [attempt, limitMs] of [
    [signal, timeoutMs],
    ['SIGKILL', KILL_TIMEOUT_MS],
  ] as const) {
    if (!isRunning(pid, startTime)) return
    process.kill(pid, attempt)
    const deadline = Date.now() + limitMs
    while (isRunning(pid, startTime) && Date.now() < deadline) await delay(STEP_MS)
  }
  if (isRunning(pid, startTime)) throw new Error(`process ${pid} does not end`)
}
