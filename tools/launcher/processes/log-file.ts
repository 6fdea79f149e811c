import { closeSync, fstatSync, openSync, renameSync, writeSync } from 'node:fs'

const LIMIT_BYTES = 16 * 1024 * 1024

export interface LogFile {
  readonly path: string
  write(chunk: Buffer | string): void
}

/** A log file that never grows past a limit: the full one becomes `<path>.1`, and the one before it goes. */
export function openLogFile(path: string, limitBytes = LIMIT_BYTES): LogFile {
  let file = openSync(path, 'a', 0o600)
  let size = fstatSync(file).size
  return {
    path,
    write(chunk) {
      if (size >= limitBytes) {
        closeSync(file)
        renameSync(path, `${path}.1`)
        file = openSync(path, 'a', 0o600)
        size = 0
      }
      size += typeof chunk === 'string' ? writeSync(file, chunk) : writeSync(file, chunk)
    },
  }
}
