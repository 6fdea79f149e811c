import { statSync } from 'node:fs'
import { chown, mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRunning } from '../bootstrap/process-lock.mjs'
import type { ProcessIdentity } from '../processes/spawn-plan.ts'
import { sharedFolder } from './postgres-files.ts'

const MEMORY = '/dev/shm'
/** What the databases of a whole test run take at most, with their log. */
const ROOM_BYTES = 2 * 1024 ** 3
const NAME = 'shuntyard-throwaway'
/** No run takes as long; a younger one may be that of another container, whose processes we cannot see. */
const LEFT_AFTER_MS = 3_600_000

/**
 * Makes a folder for data that nobody needs after this run: in memory where there is room, because a file system on a
 * disk takes a millisecond for each file that is made soon after many were removed, and a database is a thousand files.
 * Whoever asked removes it; what killed runs left in memory is removed first.
 * @param identity whom it belongs to; null for ourselves
 */
export async function makeThrowawayFolder(identity: ProcessIdentity | null): Promise<string> {
  // Another user may not enter a temporary folder of root's own.
  const onDisk = () => (identity ? sharedFolder() : tmpdir())
  const parent = (await hasRoom(MEMORY)) ? MEMORY : onDisk()
  await removeLeft(parent)
  const folder = await mkdtemp(join(parent, `${NAME}-${process.pid}-`))
  if (identity) await chown(folder, identity.uid, identity.gid)
  return folder
}

async function removeLeft(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    const maker = new RegExp(`^${NAME}-(\\d+)-`).exec(name)?.[1]
    if (maker === undefined || isRunning(Number(maker), '')) continue
    const folder = join(parent, name)
    const found = statSync(folder, { throwIfNoEntry: false })
    if (found && Date.now() - found.mtimeMs > LEFT_AFTER_MS)
      await rm(folder, { recursive: true, force: true })
  }
}

async function hasRoom(folder: string): Promise<boolean> {
  // Not every system has it.
  const system = await statfs(folder).catch(() => null)
  return system !== null && Math.min(system.bavail * system.bsize, process.availableMemory()) >= ROOM_BYTES
}
