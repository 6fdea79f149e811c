import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { ROOT } from './bootstrap/installation.mjs'
import { lockHolder } from './bootstrap/process-lock.mjs'
import { withProgress } from './bootstrap/run-process.mjs'
import { dataDirectory } from './bootstrap/running-services.mjs'

const STEP_MS = 100
/** The sum of what the processes get for their end, and some more. */
const TIMEOUT_MS = 150_000

/** `shuntyard stop`: asks the start over the data folder to stop, and waits for its end. Resolves to the exit code. */
async function main(): Promise<number> {
  const dataDir = dataDirectory(ROOT, process.env)
  const lock = join(dataDir, 'start.lock')
  const pid = lockHolder(lock)
  if (pid === null) {
    console.log(`Nothing runs over ${dataDir}.`)
    return 0
  }
  process.kill(pid, 'SIGTERM')
  await withProgress('stopping', async () => {
    const deadline = Date.now() + TIMEOUT_MS
    while (lockHolder(lock) === pid) {
      if (Date.now() > deadline) throw new Error(`process ${pid} did not end within ${TIMEOUT_MS / 1000} s`)
      await delay(STEP_MS)
    }
  })
  return 0
}

process.exitCode = await main().catch((error: Error) => {
  console.error(error.message)
  return 1
})
