import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { OutputListener, ProcessPlan } from './spawn-plan.ts'

const LOG_LIMIT_BYTES = 16 * 1024 * 1024
const LONGEST_LINE_CHARACTERS = 64 * 1024
const WARN_LEVEL = 40
const WINDOW_MS = 10_000
const LINES_PER_WINDOW = 12
/** Levels come first in a pino line; finding them without parsing keeps a busy process cheap to watch. */
const LEVEL = /^\{"level":(\d+)/

/** Writes a process's output to `<folder>/<name>.log`, and shows on the terminal what a person should see of it. */
export function keepOutput({ name, routineOutput }: ProcessPlan, logsFolder: string): OutputListener {
  const logPath = join(logsFolder, `${name}.log`)
  const log = openLogFile(logPath)
  const write = (text: string) => process.stderr.write(text)
  const terminal = createTerminalLines({ name, logPath, write, routineOutput })
  const splitters = {
    stdout: createLineSplitter((line) => terminal.show(line, 'stdout')),
    stderr: createLineSplitter((line) => terminal.show(line, 'stderr')),
  }
  return (chunk, stream) => {
    log(chunk)
    splitters[stream](chunk)
  }
}

/** Appends to a log file that never grows past a limit: the full one becomes `<path>.1`, and the one before it goes. */
function openLogFile(path: string): (chunk: Buffer) => void {
  let file = openSync(path, 'a', 0o600)
  let size = fstatSync(file).size
  return (chunk) => {
    if (size >= LOG_LIMIT_BYTES) {
      closeSync(file)
      renameSync(path, `${path}.1`)
      file = openSync(path, 'a', 0o600)
      size = 0
    }
    size += writeSync(file, chunk)
  }
}

/** Turns chunks of bytes into lines. A character or a line may be cut anywhere between two chunks. */
export function createLineSplitter(onLine: (line: string) => void): (chunk: Buffer) => void {
  const decoder = new TextDecoder()
  let rest = ''
  return (chunk) => {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n')
    rest = (lines.pop() ?? '').slice(-LONGEST_LINE_CHARACTERS)
    for (const line of lines) onLine(line)
  }
}

/**
 * What of a process's output reaches the terminal: its log lines from `warn` on, in readable form, and what it
 * writes to standard error outside its log, such as a stack trace. Past a dozen lines in ten seconds
 * it names the log file, which has everything.
 */
export function createTerminalLines(options: {
  name: string
  logPath: string
  write: (text: string) => void
  routineOutput?: RegExp | undefined
  now?: () => number
}) {
  const { name, logPath, write, routineOutput, now = () => performance.now() } = options
  let windowStart = Number.NEGATIVE_INFINITY
  let shown = 0
  return {
    /** Takes a line a process wrote and shows it if a person should see it. */
    show(line: string, stream: 'stdout' | 'stderr'): void {
      const level = LEVEL.exec(line)?.[1]
      const interesting = level ? Number(level) >= WARN_LEVEL : stream === 'stderr' && line.trim() !== ''
      if (!interesting || routineOutput?.test(line)) return
      if (now() - windowStart > WINDOW_MS) {
        windowStart = now()
        shown = 0
      }
      shown += 1
      if (shown <= LINES_PER_WINDOW) write(`[${name}] ${level ? readable(line) : line}\n`)
      else if (shown === LINES_PER_WINDOW + 1) write(`[${name}] … more of this in ${logPath}\n`)
    },
  }
}

const LEVEL_NAMES: Record<number, string> = { 40: 'warning', 50: 'error', 60: 'fatal' }

/** Fields that say of what and why a line is: an offer or provider, a status, a reason, and what the provider said. */
const TOLD_FIELDS = [
  'subject',
  'offerId',
  'providerId',
  'kind',
  'reason',
  'key',
  'httpStatus',
  'providerMessage',
]

/** A log line as one line for people: level, message, what it is about, and what failed. The rest is in the log file. */
function readable(line: string): string {
  try {
    const fields = JSON.parse(line) as {
      level: number
      msg?: string
      err?: { message?: string }
      [field: string]: unknown
    }
    const told = TOLD_FIELDS.flatMap((name) => toldOf(name, fields[name]))
    const parts = [...told, ...(fields.err?.message ? [fields.err.message] : [])]
    const about = parts.length > 0 ? ` (${parts.join(', ')})` : ''
    return `${LEVEL_NAMES[fields.level] ?? fields.level}: ${fields.msg ?? ''}${about}`
  } catch {
    // A line that was cut at its limit is shown as it is.
    return line
  }
}

function toldOf(name: string, value: unknown): string[] {
  if (typeof value !== 'string' && typeof value !== 'number') return []
  if (name === 'httpStatus') return [`HTTP ${value}`]
  return [name === 'providerMessage' ? JSON.stringify(value) : String(value)]
}
