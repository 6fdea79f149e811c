import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { runProcess } from '../bootstrap/run-process.mjs'

export interface DebianPackage {
  /** Names the copy in the cache folder: `redis`. */
  name: string
  /** For people: `a Redis server`. */
  description: string
  /** The package to install: `redis-server`. */
  package: string
  /** What must be unpacked although the package manager may think it is there. */
  always: string[]
  /** What it needs beyond a minimal Debian, where the package manager can't be asked. */
  usual: string[]
  /**
   * A release of Debian to take it from, whatever runs here: `trixie`. Then `usual` is all it needs, libc6 among it, and it
   * is run by the `loader`.
   */
  release?: string
}

export interface UnpackedPackage {
  /** Stands for `/`. */
  root: string
  /** For LD_LIBRARY_PATH. */
  libraryPath: string
  /** The dynamic loader among the packages, for programs of another release. */
  loader: string
}

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const LIBRARY_FOLDERS = ['usr/lib', 'lib']
const COMMAND_TIMEOUT_MS = 180_000

/** Runs one of Debian's package tools, whose output is then in English, and returns that. */
export function runPackageTool(
  command: string,
  args: string[],
  options: { cwd?: string } = {},
): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' }
  return runProcess(command, args, { ...options, env, timeout: COMMAND_TIMEOUT_MS })
}

/** Where fetched programs are kept: shared by all copies of the project of a user, else in the data folder. */
export function cacheFolders(dataDir: string, environment: Record<string, string | undefined>): string[] {
  const userCache = environment.XDG_CACHE_HOME || join(environment.HOME || homedir(), '.cache')
  return [join(userCache, 'shuntyard'), join(dataDir, 'cache')]
}

/**
 * Unpacks a package of Debian (or Ubuntu) with what it needs into the first folder of `cacheFolders` that can be
 * written, without root and without installing anything. Kept there for the next time and for other copies of the
 * project. Throws when apt and dpkg are not there or nothing can be fetched.
 */
export async function unpackDebianPackage(
  wanted: DebianPackage,
  cacheFolders: string[],
  log: (line: string) => void,
): Promise<UnpackedPackage> {
  const name = `${wanted.name}-${wanted.release ?? systemName()}-${process.arch}`
  for (const folder of cacheFolders) {
    if (existsSync(join(folder, name))) return describe(join(folder, name))
  }
  log(`fetching ${wanted.description} (Debian package, unpacked into a cache folder) …`)
  const cache = await firstWritable(cacheFolders)
  const temporary = join(cache, `${name}.${process.pid}`)
  await rm(temporary, { recursive: true, force: true })
  await mkdir(join(temporary, 'packages'), { recursive: true })
  try {
    await download(wanted, join(temporary, 'packages'), log)
    for (const file of await readdir(join(temporary, 'packages'))) {
      if (file.endsWith('.deb'))
        await runPackageTool('dpkg', ['-x', join(temporary, 'packages', file), join(temporary, 'root')])
    }
    await rm(join(cache, name), { recursive: true, force: true })
    await rename(join(temporary, 'root'), join(cache, name)).catch((error: NodeJS.ErrnoException) => {
      // Another start was quicker; its copy is the same.
      if (!existsSync(join(cache, name))) throw error
    })
  } finally {
    await rm(temporary, { recursive: true, force: true })
  }
  return describe(join(cache, name))
}

/** Downloads with the machine's package lists; where there are none, with lists fetched into our own folder. */
async function download(wanted: DebianPackage, folder: string, log: (line: string) => void): Promise<void> {
  if (!wanted.release) {
    try {
      await downloadWith(wanted, [], folder)
      return
    } catch (error) {
      log(`fetching package lists first (${firstError(error)}) …`)
    }
  }
  const state = join(folder, 'apt')
  await mkdir(join(state, 'lists', 'partial'), { recursive: true })
  await mkdir(join(state, 'cache', 'archives', 'partial'), { recursive: true })
  const own = [
    '-o',
    `Dir::State::lists=${state}/lists`,
    '-o',
    `Dir::Cache=${state}/cache`,
    '-o',
    'APT::Sandbox::User=',
    ...(wanted.release ? await sourcesOf(wanted.release, state) : []),
  ]
  await runPackageTool('apt-get', [...own, 'update'], { cwd: folder })
  await downloadWith(wanted, own, folder)
}

/** Options that make apt know one release of Debian only, signed as this machine's own. */
async function sourcesOf(release: string, folder: string): Promise<string[]> {
  const list = join(folder, 'sources.list')
  await writeFile(list, `deb [signed-by=${KEYRING}] http://deb.debian.org/debian ${release} main\n`)
  const withoutIcons = 'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false'
  return [
    ...['-o', `Dir::Etc::sourcelist=${list}`, '-o', 'Dir::Etc::sourceparts=/dev/null'],
    ...['-o', withoutIcons],
  ]
}

async function downloadWith(wanted: DebianPackage, options: string[], folder: string): Promise<void> {
  const packages = await missingPackages(wanted, options)
  // Root's sandbox user could not write here.
  const args = [...options, '-o', 'APT::Sandbox::User=', 'download', ...packages]
  await runPackageTool('apt-get', args, { cwd: folder })
}

/** What installing the package would add to this machine, by a dry run. */
async function missingPackages(wanted: DebianPackage, options: string[]): Promise<string[]> {
  if (wanted.release) return [wanted.package, ...wanted.usual]
  const args = [...options, '--simulate', '--no-install-recommends', 'install', wanted.package]
  try {
    const names = [...(await runPackageTool('apt-get', args)).matchAll(/^Inst (\S+)/gm)].map(
      (match) => match[1] ?? '',
    )
    return [...new Set([...names, wanted.package, ...wanted.always])]
  } catch {
    // A machine with broken or held packages refuses the dry run; downloading does not mind.
    return [wanted.package, ...wanted.usual]
  }
}

/** Programs unpacked under one release of the system are not offered to another. */
function systemName(): string {
  const release = existsSync('/etc/os-release') ? readFileSync('/etc/os-release', 'utf8') : ''
  const field = (name: string) => new RegExp(`^${name}="?([\\w.-]+)`, 'm').exec(release)?.[1] ?? 'unknown'
  return `${field('ID')}-${field('VERSION_ID')}`
}

async function describe(root: string): Promise<UnpackedPackage> {
  const folders: string[] = []
  for (const base of LIBRARY_FOLDERS.map((path) => join(root, path)).filter(existsSync)) {
    folders.push(base)
    for (const entry of await readdir(base, { withFileTypes: true })) {
      if (entry.isDirectory()) folders.push(join(base, entry.name))
    }
  }
  const loader = join(
    root,
    process.arch === 'arm64' ? 'usr/lib/ld-linux-aarch64.so.1' : 'usr/lib64/ld-linux-x86-64.so.2',
  )
  return { root, libraryPath: folders.join(':'), loader }
}

async function firstWritable(folders: string[]): Promise<string> {
  const problems: string[] = []
  for (const folder of folders) {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await mkdir(join(folder, `.writable-${process.pid}`))
      await rm(join(folder, `.writable-${process.pid}`), { recursive: true })
      return folder
    } catch (error) {
      problems.push(firstError(error))
    }
  }
  throw new Error(`no cache folder can be written: ${problems.join('; ')}`)
}

/** The line of a failure that says what is wrong: that of apt, or the first. */
export function firstError(error: unknown): string {
  const lines = (error as Error).message.split('\n')
  return lines.find((line) => line.startsWith('E:')) ?? lines[0] ?? ''
}
