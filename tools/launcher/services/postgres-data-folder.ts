import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { chmod, chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ProcessIdentity } from '../processes/process-plan.ts'
import { sharedFolder } from './shared-folder.ts'

const HASH_CHARACTERS = 16

/**
 * The folder for the database's files: inside the data folder, or, where PostgreSQL must run as another
 * user, `/var/lib/switchyard/<hash of the data folder's path>`, noted in `postgres-folder` of the data
 * folder. Files there without that note belong to a data folder that was deleted: they are put aside.
 */
export async function postgresDataFolder(
  dataDir: string,
  identity: ProcessIdentity | null,
  log: (line: string) => void,
): Promise<string> {
  if (!identity) return ensureFolder(join(dataDir, 'postgres'), null)
  const note = join(dataDir, 'postgres-folder')
  if (existsSync(note)) return ensureFolder((await readFile(note, 'utf8')).trim(), identity)
  const hash = createHash('sha256').update(realpathSync(dataDir)).digest('hex').slice(0, HASH_CHARACTERS)
  const folder = join(sharedFolder(), hash)
  if (existsSync(folder)) {
    const aside = `${folder}.old`
    await rm(aside, { recursive: true, force: true })
    await rename(folder, aside)
    log(`the database of a data folder that was deleted is kept in ${aside}`)
  }
  await writeFile(note, `${folder}\n`)
  return ensureFolder(folder, identity)
}

async function ensureFolder(folder: string, identity: ProcessIdentity | null): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  if (identity) await chown(folder, identity.uid, identity.gid)
  return folder
}
