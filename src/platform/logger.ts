import { type Logger, pino } from 'pino'
import { traceFields } from './tracing.ts'

export type { Logger } from 'pino'

/** Structured logs to standard output; keys, prompts and sealed bodies are redacted wherever they appear. */
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
    mixin: traceFields,
    serializers: { err: pino.stdSerializers.err },
  })
}
