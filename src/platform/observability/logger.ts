import { type LogFn, type Logger, pino } from 'pino'
import { traceFields } from './tracing.ts'

export type { Logger } from 'pino'

/** The message of a failure as one short line without a stack, for failures that affect every call. */
export const causeOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ').slice(0, CAUSE_LENGTH)

const CAUSE_LENGTH = 200

/**
 * Creates the structured logger of a process, to standard output. Keys, prompts and sealed bodies are redacted, and
 * repeated warnings are sampled.
 */
export function createLogger(level: string, role: string): Logger {
  return pino({
    level,
    base: { role, pid: process.pid },
    redact: {
      paths: [
        'authorization',
        '*.authorization',
        'headers.authorization',
        'apiKey',
        '*.apiKey',
        'messages',
        '*.messages',
        'sealedBody',
        '*.sealedBody',
        'text',
        '*.text',
      ],
      censor: '[redacted]',
    },
    hooks: { logMethod: sampleLines() },
    mixin: traceFields,
    serializers: { err: pino.stdSerializers.err },
  })
}

const ACCESS_BUFFER_BYTES = 8 * 1024
const ACCESS_FLUSH_MS = 1_000

/**
 * Creates the logger for one line per request. Lines are buffered for at most a second to keep calls cheap, so a killed
 * process loses the last ones.
 */
export function createAccessLogger(level: string, role: string): Logger {
  const output = pino.destination({
    fd: process.stdout.fd,
    sync: false,
    minLength: ACCESS_BUFFER_BYTES,
    periodicFlush: ACCESS_FLUSH_MS,
  })
  process.once('exit', () => output.flushSync())
  return pino({ level, base: { role, pid: process.pid } }, output)
}

/** Lines of one kind written in a second. */
const LINES_MAX = 3
const SECOND_MS = 1_000
/** Messages are constant, so the number of kinds stays far below this. */
const KINDS_MAX = 1_000
const WARN = 40
const FATAL = 60

interface Kind {
  lines: number
}

/**
 * A pino hook that prevents a failure of every call from filling the disk. Of the warnings and errors with the same
 * message (and the same `code`, if they have one), a few are written each second; then one line states the number of
 * lines that were dropped.
 */
export function sampleLines() {
  const kinds = new Map<string, Kind>()
  return function logMethod(this: Logger, args: Parameters<LogFn>, write: LogFn, level: number): void {
    if (level < WARN || level >= FATAL) return write.apply(this, args)
    const { message, code } = described(args)
    const name = `${message} ${code ?? ''}`
    const kind = kinds.get(name)
    if (kind) {
      kind.lines += 1
      if (kind.lines <= LINES_MAX) write.apply(this, args)
      return
    }
    write.apply(this, args)
    if (kinds.size >= KINDS_MAX) return
    const begun: Kind = { lines: 1 }
    kinds.set(name, begun)
    setTimeout(() => {
      kinds.delete(name)
      const repeated = begun.lines - LINES_MAX
      if (repeated > 0) write.apply(this, [{ repeated, ...(code !== undefined && { code }) }, message])
    }, SECOND_MS).unref()
  }
}

function described([first, second]: readonly unknown[]): { message: string; code: string | undefined } {
  if (typeof first === 'string') return { message: first, code: undefined }
  const code = (first as { code?: unknown } | null)?.code
  return {
    message: typeof second === 'string' ? second : '',
    code: typeof code === 'string' ? code : undefined,
  }
}
