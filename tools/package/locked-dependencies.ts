/** What a package-lock.json says of one package, as far as it is read here. */
export interface LockedPackage {
  version?: string
  os?: string[]
  cpu?: string[]
  libc?: string[]
  dependencies?: Record<string, string>
  optionalDependencies?: Record<string, string>
  devDependencies?: Record<string, string>
  peerDependencies?: Record<string, string>
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
  [field: string]: unknown
}

export interface LockFile {
  packages: Record<string, LockedPackage>
  [field: string]: unknown
}

/**
 * The part of a lock file that an installed package needs: what its dependencies lead to, without those of development
 * and without what is only used if somebody else installed it.
 */
export function lockedDependencies(lock: LockFile): LockFile {
  const { devDependencies, ...own } = lock.packages[''] ?? {}
  const kept = new Set<string>()
  const keep = (from: string, entry: LockedPackage): void => {
    const peers = Object.keys(entry.peerDependencies ?? {}).filter(
      (name) => !entry.peerDependenciesMeta?.[name]?.optional,
    )
    for (const name of [
      ...Object.keys(entry.dependencies ?? {}),
      ...Object.keys(entry.optionalDependencies ?? {}),
      ...peers,
    ]) {
      const path = find(lock, name, from)
      if (path === null || kept.has(path)) continue
      kept.add(path)
      keep(path, lock.packages[path]!)
    }
  }
  keep('', own)
  const packages = Object.entries(lock.packages)
    .filter(([path]) => kept.has(path))
    // They run on the Node that is among them; npm would compare with the one that installs them, and warn.
    .map(([path, { engines, ...entry }]) => [path, entry])
  return { ...lock, packages: { '': own, ...Object.fromEntries(packages) } }
}

/** Node's lookup: in the folder of the package itself, then in each one around it. */
function find({ packages }: LockFile, name: string, from: string): string | null {
  const path = `${from}${from && '/'}node_modules/${name}`
  if (path in packages) return path
  return from === ''
    ? null
    : find({ packages }, name, from.slice(0, Math.max(0, from.lastIndexOf('/node_modules/'))))
}

/** How many of the packages npm installs on a system. */
export function installedCount(
  { packages }: LockFile,
  system: { os: string; cpu: string; libc: string },
): number {
  const allows = (list: string[] | undefined, value: string) => !list || list.includes(value)
  return Object.entries(packages).filter(
    ([path, { os, cpu, libc }]) =>
      path !== '' && allows(os, system.os) && allows(cpu, system.cpu) && allows(libc, system.libc),
  ).length
}
