import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { startProcessGuard } from '../../tools/launcher/processes/process-guard.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const STOP_TIMEOUT_MS = 45_000
const WATCH_TURNS = join(import.meta.dirname, 'watch-turns.ts')

/**
 * What a process of the gateway may see of the test runner's environment: where programs are, and what Node made
 * of the source before, without which a process takes several times as long to start.
 */
export const ofRunner = (): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
})

/** A part of the gateway that runs. */
export interface Part {
  stop(): Promise<void>
  /** `kill -9`; only where parts are processes, like the following. */
  kill(): Promise<void>
  /** Stops it in its tracks, as a machine that hangs does, until `resume`. */
  pause(): void
  resume(): void
  /** Its exit code; null when a signal ended it. */
  exited: Promise<number | null>
  pid: number | undefined
  /** False for a process that has ended. */
  isRunning: () => boolean
  /**
   * The longest turn of its event loop since this was asked last, in ms of the processor's time, which other work
   * on the machine does not lengthen.
   */
  longestTurnMs(): Promise<number>
}

/** A part that runs within the test's own process. */
export function inlinePart(running: { stop(): Promise<void> }): Part {
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= running.stop()
    return stopped
  }
  const refuse = () => {
    throw new Error('this part is no process')
  }
  return {
    stop,
    kill: async () => refuse(),
    pause: refuse,
    resume: refuse,
    exited: new Promise(() => undefined),
    pid: undefined,
    isRunning: () => stopped === undefined,
    longestTurnMs: async () => refuse(),
  }
}

/** A part as a process of its own. */
export function spawnPart(entry: string, args: readonly string[], environment: Record<string, string>): Part {
  const child = spawn(process.execPath, ['--import', WATCH_TURNS, join(ROOT, entry), ...args], {
    env: { ...ofRunner(), ...environment },
    stdio: ['ignore', process.env.TEST_LOG_LEVEL ? 'inherit' : 'ignore', 'inherit', 'ipc'],
  })
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  // A test runner that is killed, or a file that takes too long, must not leave it behind.
  const guard = startProcessGuard()
  if (child.pid) guard.add(child.pid, 'sessions')
  void exited.then(() => guard.close())
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill(signal)
    // One that is paused could not obey.
    child.kill('SIGCONT')
    const killer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS)
    await exited
    clearTimeout(killer)
  }
  return {
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    exited,
    pid: child.pid,
    isRunning: () => child.exitCode === null && child.signalCode === null,
    async longestTurnMs() {
      const answer = once(child, 'message')
      child.send('longest turn')
      const [ms] = (await answer) as [number]
      return ms
    },
  }
}
