import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The key that seals job bodies and provider keys: made on the first start, kept beside the data it opens. */
export function ensureMasterKey(dataDir: string, environment: Record<string, string | undefined>): string {
  if (environment.MASTER_KEY) return environment.MASTER_KEY
  const path = join(dataDir, 'master-key')
  if (existsSync(path)) return readFileSync(path, 'utf8').trim()
  const key = randomBytes(32).toString('base64')
  writeFileSync(path, `${key}\n`, { mode: 0o600, flag: 'wx' })
  return key
}
