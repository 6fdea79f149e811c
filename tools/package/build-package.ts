import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileFolder } from './compile-folder.ts'
import { type LockFile, lockedDependencies } from './locked-dependencies.ts'

/** Folders of the sources that an installed gateway runs. */
const FOLDERS = ['src', 'workers', 'tools/launcher', 'tools/simulated-providers']
/** Of those, what only a clone needs. */
const FOR_CLONES = /^tools\/launcher\/(test|check|serve-console)\.ts$|prepare-clone\.mjs$/

/**
 * Builds what `npm pack` puts into the package: the folder `dist`, laid out as the repository, and the lock file of its
 * dependencies, so that everybody gets exactly the versions that were tested.
 * @param pages the built console
 */
export function buildPackage({ root, pages, target }: { root: string; pages: string; target: string }): void {
  const dist = join(target, 'dist')
  rmSync(dist, { recursive: true, force: true })
  for (const folder of FOLDERS) compileFolder(root, folder, dist, (path) => FOR_CLONES.test(path))
  cpSync(join(root, 'prisma', 'migrations'), join(dist, 'prisma', 'migrations'), { recursive: true })
  const isServed = (path: string) => !path.endsWith('.vite')
  cpSync(pages, join(dist, 'web', 'dist'), { recursive: true, filter: isServed })
  const { name, version, type } = readJson<Record<string, string>>(join(root, 'package.json'))
  writeJson(join(dist, 'package.json'), { name, version, type })
  writeJson(
    join(target, 'npm-shrinkwrap.json'),
    lockedDependencies(readJson<LockFile>(join(root, 'package-lock.json'))),
  )
}

const readJson = <T>(path: string): T => JSON.parse(readFileSync(path, 'utf8')) as T
const writeJson = (path: string, value: unknown) => writeFileSync(path, `${JSON.stringify(value, null, 2)}\n`)
