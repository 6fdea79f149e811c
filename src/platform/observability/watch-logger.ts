import type { LogFn } from 'pino'
import type { Logger } from './logger.ts'

const WATCHED = ['warn', 'error', 'fatal'] as const

export type WatchedLevel = (typeof WATCHED)[number]

/** Called with one log line: the object logged with it, and its message. Must not throw. */
export type LogListener = (level: WatchedLevel, logged: unknown, message: string) => void

/**
 * The same logger, whose warnings and errors also reach a listener, whatever level is written out. An alarm is thus
 * raised by its log line, and none can be logged without being recorded.
 */
export function watchLogger(logger: Logger, listener: LogListener): Logger {
  const watched: Logger = Object.create(logger)
  for (const level of WATCHED) {
    const write = logger[level].bind(logger) as (...args: unknown[]) => void
    const watch = (...args: unknown[]) => {
      const [logged, message] = typeof args[0] === 'string' ? [null, args[0]] : [args[0], args[1]]
      listener(level, logged, typeof message === 'string' ? message : '')
      write(...args)
    }
    watched[level] = watch as LogFn
  }
  return watched
}
