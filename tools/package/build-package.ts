import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileSources } from './compile-sources.ts'
import { type LockFile, lockedDependencies } from './locked-dependencies.ts'

/** What an installed gateway runs. */
const SOURCES = [
  'src',
  'workers',
  'tools/launcher',
  'tools/simulated-providers',
  // The gate, and what it uses of others.
  'test/gate',
  'test/bench/targets/gateway.ts',
  'test/helpers/test-catalog.ts',
  'test/helpers/wires.ts',
  'web/lib/agent-setups.ts',
  'web/lib/curl-call.ts',
  'web/lib/snippets.ts',
]
/** Of those, what only a clone needs. */
const FOR_CLONES =
  /^tools\/launcher\/(test|check|serve-console)\.ts$|prepare-clone\.mjs$|\.test\.ts$|^test\/gate\/(sdks|agents)\/.*\.(mjs|py|json)$/

/**
 * Builds what `npm pack` puts into the package: the folder `dist`, laid out as the repository, and the lock file of its
 * dependencies, so that npm installs exactly the versions that were tested, as it does for packages from a registry.
 * @param pages the built console
 */
export function buildPackage({ root, pages, target }: { root: string; pages: string; target: string }): void {
  const dist = join(target, 'dist')
  rmSync(dist, { recursive: true, force: true })
  for (const source of SOURCES) compileSources(root, source, dist, (path) => FOR_CLONES.test(path))
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
