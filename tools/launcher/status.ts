import { join } from 'node:path'
import { ROOT, version } from './bootstrap/installation.mjs'
import { lockHolder } from './bootstrap/process-lock.mjs'
import { dataDirectory, findRunningServices } from './bootstrap/running-services.mjs'
import { gatewayUrl } from './start/gateway-url.ts'

const TIMEOUT_MS = 3000

/**
 * `shuntyard status [--json]`: whether a start runs over the data folder, and whether it takes calls. Resolves to the
 * exit code, 0 only if it does.
 */
async function main(args: string[]): Promise<number> {
  const dataDir = dataDirectory(ROOT, process.env)
  const pid = lockHolder(join(dataDir, 'start.lock'))
  const { HOST = '', PORT = '' } = findRunningServices(dataDir)?.environment ?? {}
  const url = PORT === '' ? null : gatewayUrl(HOST, PORT)
  const state = pid === null ? 'stopped' : url !== null && (await isReady(url)) ? 'ready' : 'not ready'
  const facts = { state, version: version(), url: pid === null ? null : url, pid, data: dataDir }
  if (args.includes('--json')) console.log(JSON.stringify(facts))
  else for (const [name, value] of Object.entries(facts)) console.log(`${name.padEnd(8)} ${value ?? '-'}`)
  return state === 'ready' ? 0 : 1
}

async function isReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(TIMEOUT_MS) })
    await response.body?.cancel()
    return response.ok
  } catch {
    // Nothing listens yet, or no longer.
    return false
  }
}

process.exitCode = await main(process.argv.slice(2))
