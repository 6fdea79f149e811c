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
  routineOutput?: RegExp | undefined
  now?: () => number
}): TerminalLines {
  const { name, logPath, write, routineOutput, now = () => performance.now() } = options
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
      if (shown <= LINES_PER_WINDOW) write(`[${name}] ${level ? readable(line) : line}\n`)
      else if (shown === LINES_PER_WINDOW + 1) write(`[${name}] … more of this in ${logPath}\n`)
    },
  }
}

const LEVEL_NAMES: Record<number, string> = { 40: 'warning', 50: 'error', 60: 'fatal' }

/** A log line as one line for people: level, message, and what failed. The rest is in the log file. */
function readable(line: string): string {
  try {
    const { level, msg, err } = JSON.parse(line) as {
      level: number
      msg?: string
      err?: { message?: string }
    }
    return `${LEVEL_NAMES[level] ?? level}: ${msg ?? ''}${err?.message ? ` (${err.message})` : ''}`
  } catch {
    // A line that was cut at its limit is shown as it is.
    return line
  }
}
