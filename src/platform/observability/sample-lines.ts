import type { LogFn, Logger } from 'pino'

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
