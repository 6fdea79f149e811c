import { type LogFn, type Logger, pino } from 'pino'
import { traceFields } from './tracing.ts'

export type { Logger } from 'pino'

/** What failed, as one short line without a stack: for faults that hit every call alike. */
export const causeOf = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ').slice(0, CAUSE_LENGTH)

const CAUSE_LENGTH = 200

/**
 * Structured logs to standard output; keys, prompts and sealed bodies are redacted wherever they appear, and warnings
 * that repeat are sampled.
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
 * A logger to standard output for a line a request. Lines are written together, at the latest after a second, so that they
 * cost calls little; what a killed process had not written is lost.
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

/** Lines of one kind that are written in a second. */
const LINES_MAX = 3
const SECOND_MS = 1_000
/** Messages are constant, so there are far fewer kinds. */
const KINDS_MAX = 1_000
const WARN = 40
const FATAL = 60

interface Kind {
  lines: number
}

/**
 * A pino hook that keeps a fault which hits every call from filling the disk: of the warnings and errors with one
 * message (and one `code`, where they carry one) a few are written in a second, and then one line says how many
 * more there were.
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
