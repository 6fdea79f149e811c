import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { processStartTime } from '../bootstrap/process-lock.mjs'
import { type RunningServices, runtimeFile } from '../bootstrap/running-services.mjs'

/** Writes down where this start's services are, for the operator's commands. Readable by the owner only. */
export function writeRuntimeFile(dataDir: string, environment: Record<string, string>): void {
  const services: RunningServices = {
    pid: process.pid,
    startTime: processStartTime(process.pid),
    environment,
  }
  const path = runtimeFile(dataDir)
  writeFileSync(`${path}.new`, `${JSON.stringify(services, null, 2)}\n`, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}

/** Says that nothing runs any more. */
export function removeRuntimeFile(dataDir: string): void {
  rmSync(runtimeFile(dataDir), { force: true })
}
