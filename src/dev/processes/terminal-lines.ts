import { prettyFactory } from 'pino-pretty'

const WARN_LEVEL = 40
const WINDOW_MS = 10_000
const LINES_PER_WINDOW = 12
/** Levels come first in a pino line; finding them without parsing keeps a busy process cheap to watch. */
const LEVEL = /^\{"level":(\d+)/

export interface TerminalLines {
  /** Takes a line a process wrote and shows it if a person should see it. */
  show(line: string, stream: 'stdout' | 'stderr'): void
}

/**
 * What of a process's output reaches the terminal: its log lines from `warn` on, in readable form, and what it
 * writes to standard error outside its log, such as a stack trace. Past a dozen lines in ten seconds only
 * their number is told; everything is in the log file.
 */
export function createTerminalLines(options: {
  name: string
  logPath: string
  write: (text: string) => void
  colors: boolean
  routineOutput?: RegExp | undefined
  now?: () => number
}): TerminalLines {
  const { name, logPath, write, colors, routineOutput, now = () => performance.now() } = options
  const pretty = prettyFactory({ colorize: colors, ignore: 'pid,hostname,role,time', singleLine: true })
  let windowStart = Number.NEGATIVE_INFINITY
  let shown = 0
  return {
    show(line, stream) {
      const level = LEVEL.exec(line)?.[1]
      const interesting = level ? Number(level) >= WARN_LEVEL : stream === 'stderr' && line.trim() !== ''
      if (!interesting || routineOutput?.test(line)) return
      if (now() - windowStart > WINDOW_MS) {
        windowStart = now()
        shown = 0
      }
      shown += 1
      if (shown <= LINES_PER_WINDOW) write(`[${name}] ${level ? (pretty(line) ?? line).trimEnd() : line}\n`)
      else if (shown === LINES_PER_WINDOW + 1) write(`[${name}] … more of this in ${logPath}\n`)
    },
  }
}
