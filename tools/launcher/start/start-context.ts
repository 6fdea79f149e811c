import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createLineSplitter } from '../processes/line-splitter.ts'
import { openLogFile } from '../processes/log-file.ts'
import type { GuardRank, ProcessGuard } from '../processes/process-guard.ts'
import type { ProcessPlan } from '../processes/process-plan.ts'
import { type Supervised, supervise } from '../processes/supervise.ts'
import { createTerminalLines } from '../processes/terminal-lines.ts'

/** What every step of the all-in-one start needs. */
export interface StartContext {
  root: string
  dataDir: string
  logsFolder: string
  environment: Record<string, string | undefined>
  /** Tells a person something. */
  log: (line: string) => void
  /** Starts a process, keeps it running, and keeps its output in `logs/<name>.log`. */
  run: (plan: ProcessPlan, rank: GuardRank) => Promise<void>
  /** Everything that runs, in the order it was started. */
  running: Supervised[]
}

/** Builds the context. `signal` aborted means that nothing more may be started. */
export function createStartContext(options: {
  root: string
  dataDir: string
  environment: Record<string, string | undefined>
  guard: ProcessGuard
  signal: AbortSignal
}): StartContext {
  const { root, dataDir, environment, guard, signal } = options
  const logsFolder = join(dataDir, 'logs')
  mkdirSync(logsFolder, { recursive: true, mode: 0o700 })
  const log = (line: string) => void process.stdout.write(`  ${line}\n`)
  const running: Supervised[] = []
  const run = async (plan: ProcessPlan, rank: GuardRank) => {
    signal.throwIfAborted()
    const onOutput = keepOutput(plan, logsFolder)
    const supervised = supervise(plan, { guard, rank, onOutput, log })
    running.push(supervised)
    await supervised.ready
  }
  return { root, dataDir, logsFolder, environment, log, run, running }
}

function keepOutput({ name, routineOutput }: ProcessPlan, logsFolder: string) {
  const file = openLogFile(join(logsFolder, `${name}.log`))
  const terminal = createTerminalLines({
    name,
    logPath: file.path,
    write: (text) => process.stderr.write(text),
    routineOutput,
  })
  const splitters = {
    stdout: createLineSplitter((line) => terminal.show(line, 'stdout')),
    stderr: createLineSplitter((line) => terminal.show(line, 'stderr')),
  }
  return (chunk: Buffer, stream: 'stdout' | 'stderr') => {
    file.write(chunk)
    splitters[stream](chunk)
  }
}
