import { mkdir, open, readdir, rename, rm, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ObjectEntry, ObjectStorage } from './object-storage.ts'

/** Suffix of a file that is being written. */
const UNFINISHED = '.part'

const isMissing = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'ENOENT'

/**
 * Stores objects as files of one folder, which the processes of one machine share. A file gets its name once it is
 * complete. Files are not flushed to disk, since the calls that they belong to do not survive the machine either.
 */
export function createFolderStorage(folder: string): ObjectStorage {
  /** Creates the folder for the first body: most gateways store none. */
  const ensureFolder = () => mkdir(folder, { recursive: true, mode: 0o700 })
  const pathOf = (key: string) => join(folder, key.replaceAll('/', '~'))
  const files = async (): Promise<ObjectEntry[]> => {
    const names = (await readdir(folder).catch(nullIfMissing)) ?? []
    const entries = await Promise.all(
      names.map(async (name) => {
        const found = await stat(join(folder, name)).catch(nullIfMissing)
        return found && { key: name.replaceAll('~', '/'), bytes: found.size, modifiedAt: found.mtimeMs }
      }),
    )
    return entries.filter((entry) => entry !== null)
  }
  return {
    async write(key, content) {
      const path = pathOf(key)
      await ensureFolder()
      const file = await open(path + UNFINISHED, 'wx', 0o600)
      try {
        await pipeline(content, file.createWriteStream())
        await rename(path + UNFINISHED, path)
      } catch (error) {
        await rm(path + UNFINISHED, { force: true })
        throw error
      }
    },
    async read(key) {
      const file = await open(pathOf(key)).catch(nullIfMissing)
      return file?.createReadStream() ?? null
    },
    list: async (prefix) =>
      (await files()).filter(({ key }) => key.startsWith(prefix) && !key.endsWith(UNFINISHED)),
    async remove(keys) {
      await Promise.all(keys.map((key) => rm(pathOf(key), { force: true })))
    },
    async removeUnfinished(before) {
      const old = (await files()).filter(
        ({ key, modifiedAt }) => key.endsWith(UNFINISHED) && modifiedAt < before,
      )
      await Promise.all(old.map(({ key }) => rm(pathOf(key), { force: true })))
    },
    async freeBytes() {
      await ensureFolder()
      const { bavail, bsize } = await statfs(folder)
      return bavail * bsize
    },
    close: () => undefined,
  }
}

/** A file can be removed with its call while it is being read. */
function nullIfMissing(error: unknown): null {
  if (isMissing(error)) return null
  throw error
}
