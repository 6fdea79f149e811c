import { existsSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isRunning, processStartTime } from '../bootstrap/process-lock.mjs'

const STEP_MS = 50
const KILL_TIMEOUT_MS = 5000

/**
 * Makes way for a server after an unclean end of the one before. The caller holds the data folder's lock, so a process
 * that the pid file names and that was started with `text` in its command line is an orphan, and is stopped. Where
 * the pid belongs to another program by now, the file is removed: a server would take that for one of its own.
 */
export async function clearFormerServer(
  pidFile: string,
  text: string,
  { stopSignal, stopTimeoutMs }: { stopSignal: NodeJS.Signals; stopTimeoutMs: number },
): Promise<void> {
  if (!existsSync(pidFile)) return
  const pid = Number.parseInt(readFileSync(pidFile, 'utf8'), 10)
  if (!isRunning(pid, '')) return
  if (processMentions(pid, text)) await stopOrphan(pid, stopSignal, stopTimeoutMs)
  else await rm(pidFile, { force: true })
}

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

/** Stops a process that outlived the one that started it; kills it after the limit. */
async function stopOrphan(pid: number, signal: NodeJS.Signals, timeoutMs: number): Promise<void> {
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
