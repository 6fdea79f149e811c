import { type Logger, pino } from 'pino'
import { sampleLines } from './sample-lines.ts'
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
