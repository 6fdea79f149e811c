import { type ChildProcess, spawn } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

const PROBE_EVERY_MS = 50
const PROBE_TIMEOUT_MS = 2000
/** What a process wrote last is read within this time after its end. */
const LAST_OUTPUT_MS = 1000
const KEPT_OUTPUT_CHARACTERS = 4000
const TAIL_LINES = 15

/** One process that the all-in-one start or a test brings up: how to run it, when it serves, how it ends. */
export interface ProcessPlan {
  /** Short, shown to people and used as the log file's name. */
  name: string
  command: string
  args: string[]
  cwd: string
  env: Record<string, string | undefined>
  /** Set where the process must run as another user than ours. */
  identity?: ProcessIdentity | null
  /** Lines on standard error that are not shown on the terminal; the log file has them. */
  routineOutput?: RegExp
  stopSignal: NodeJS.Signals
  /** After this long without an end, the process is killed. */
  stopTimeoutMs: number
  /** Makes way for the process: removes what a killed predecessor left. */
  prepare?: () => Promise<void>
  /** Resolves once the process serves; rejects with the reason while it does not yet. Called repeatedly. */
  probe: (signal: AbortSignal) => Promise<void>
  /** The process counts as failed when it does not serve by then. */
  readyTimeoutMs: number
}

export interface ProcessIdentity {
  uid: number
  gid: number
}

/** A process that runs, and what it leaves when it ends. */
export interface RunningProcess {
  readonly pid: number
  /** Resolves when the process has ended, whatever the reason. */
  readonly ended: Promise<ProcessEnd>
  /** Asks it to stop, kills it after the plan's limit, and waits for its end. */
  stop(): Promise<void>
  /** SIGKILL, and waits for the end. */
  kill(): Promise<void>
}

export interface ProcessEnd {
  code: number | null
  signal: NodeJS.Signals | null
  /** The last of what it wrote. */
  output: string
}

/** Receives everything a process writes. */
export type OutputListener = (chunk: Buffer, stream: 'stdout' | 'stderr') => void

export interface SpawnPlanOptions {
  /** Aborting it ends a process that does not serve yet. */
  signal?: AbortSignal
  onOutput?: OutputListener
  /** Called as soon as the process exists, long before it serves. */
  onSpawn?: (pid: number) => void
}

/**
 * Runs a plan and resolves once the process serves. Rejects, with what it wrote, when it ends before that or
 * does not serve in time, and when the signal aborts; the process has ended by then. It gets a group of its
 * own: a Ctrl-C in the terminal reaches only us, who stop the processes in the right order.
 */
export async function spawnPlan(plan: ProcessPlan, options: SpawnPlanOptions = {}): Promise<RunningProcess> {
  const { signal = new AbortController().signal, onOutput = () => undefined, onSpawn } = options
  signal.throwIfAborted()
  await plan.prepare?.()
  const child = spawn(plan.command, plan.args, {
    cwd: plan.cwd,
    env: plan.env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...plan.identity,
  })
  const ended = watchEnd(child, onOutput)
  if (child.pid) onSpawn?.(child.pid)
  const running: RunningProcess = {
    pid: child.pid ?? 0,
    ended,
    stop: () => end(child, ended, plan.stopSignal, plan.stopTimeoutMs),
    kill: () => end(child, ended, 'SIGKILL', plan.stopTimeoutMs),
  }
  try {
    await untilReady(plan, ended, signal)
  } catch (error) {
    await running.stop()
    throw error
  }
  return running
}

function watchEnd(child: ChildProcess, onOutput: OutputListener): Promise<ProcessEnd> {
  let output = ''
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk: Buffer) => {
      output = (output + chunk).slice(-KEPT_OUTPUT_CHARACTERS)
      onOutput(chunk, stream)
    })
  }
  child.once('exit', () => {
    // A process that it started would outlive it and keep its output open.
    signalGroup(child, 'SIGKILL')
    const timer = setTimeout(() => {
      child.stdout?.destroy()
      child.stderr?.destroy()
    }, LAST_OUTPUT_MS)
    child.once('close', () => clearTimeout(timer))
  })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ code: null, signal: null, output: `${output}${error.message}` }))
    child.once('close', (code, signal) => resolve({ code, signal, output }))
  })
}

async function untilReady(plan: ProcessPlan, ended: Promise<ProcessEnd>, signal: AbortSignal): Promise<void> {
  const deadline = Date.now() + plan.readyTimeoutMs
  let end: ProcessEnd | null = null
  void ended.then((reason) => {
    end = reason
  })
  for (;;) {
    const probe = AbortSignal.any([signal, AbortSignal.timeout(PROBE_TIMEOUT_MS)])
    const reason = await Promise.race([plan.probe(probe), rejectOnAbort(probe)]).then(
      () => null,
      (error: unknown) => error,
    )
    signal.throwIfAborted()
    if (end) throw new Error(`${plan.name} ended before it was ready (${describeEnd(end)})\n${tail(end)}`)
    if (reason === null) return
    if (Date.now() > deadline) {
      throw new Error(
        `${plan.name} was not ready within ${plan.readyTimeoutMs / 1000} s: ${(reason as Error).message}`,
      )
    }
    await Promise.race([ended, delay(PROBE_EVERY_MS)])
  }
}

const rejectOnAbort = (signal: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })

const tail = (end: ProcessEnd) => end.output.trim().split('\n').slice(-TAIL_LINES).join('\n')

async function end(
  child: ChildProcess,
  ended: Promise<ProcessEnd>,
  signal: NodeJS.Signals,
  timeoutMs: number,
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  child.kill(signal)
  const killer = setTimeout(() => signalGroup(child, 'SIGKILL'), timeoutMs)
  await ended
  clearTimeout(killer)
}

/** Signals a process and those it started that are still of its group. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** How a process ended, for people. */
export function describeEnd({ code, signal }: ProcessEnd): string {
  if (signal) return `killed by ${signal}`
  return code === null ? 'could not be run' : `exit code ${code}`
}
