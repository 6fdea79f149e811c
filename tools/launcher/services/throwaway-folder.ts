import { chown, mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isRunning } from '../bootstrap/process-lock.mjs'
import type { ProcessIdentity } from '../processes/spawn-plan.ts'

const MEMORY = '/dev/shm'
/** What the databases of a whole test run take at most, with their log. */
const ROOM_BYTES = 2 * 1024 ** 3
const NAME = 'switchyard-throwaway'

/**
 * Makes a folder for data that nobody needs after this run: in memory where there is room, because a file system on a
 * disk takes a millisecond for each file that is made soon after many were removed, and a database is a thousand files.
 * Whoever asked removes it; what killed runs left in memory is removed first.
 * @param identity whom it belongs to; null for ourselves
 */
export async function makeThrowawayFolder(identity: ProcessIdentity | null): Promise<string> {
  const parent = (await hasRoom(MEMORY)) ? MEMORY : tmpdir()
  for (const name of await readdir(parent)) {
    const maker = new RegExp(`^${NAME}-(\\d+)-`).exec(name)?.[1]
    if (maker && !isRunning(Number(maker), '')) await rm(join(parent, name), { recursive: true, force: true })
  }
  const folder = await mkdtemp(join(parent, `${NAME}-${process.pid}-`))
  if (identity) await chown(folder, identity.uid, identity.gid)
  return folder
}

async function hasRoom(folder: string): Promise<boolean> {
  // Not every system has it.
  const system = await statfs(folder).catch(() => null)
  return system !== null && Math.min(system.bavail * system.bsize, process.availableMemory()) >= ROOM_BYTES
}
