import {
  type FileHandle,
  mkdir,
  open,
  opendir,
  readdir,
  rename,
  rm,
  rmdir,
  stat,
  statfs,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { ObjectEntry, ObjectStorage } from './object-storage.ts'

/** Suffix of a file that is being written. */
const UNFINISHED = '.part'

const CREATE_TRIES = 5

const isUnfinished = ({ key }: ObjectEntry): boolean => key.endsWith(UNFINISHED)

/**
 * Stores objects as files, which the processes of one machine share: `<account>/<call>/<name>` as `<name>` in the
 * folder `<account>~<call>`. A file gets its name once it is complete. Files are not flushed to disk, since the calls
 * that they belong to do not survive the machine either.
 */
export function createFolderStorage(folder: string): ObjectStorage {
  const ensureFolder = (path: string) => mkdir(path, { recursive: true, mode: 0o700 })
  const pathOf = (key: string) => join(folder, key.replace('/', '~'))

  /** Creates a file of a call. The removal of another one of its files may remove its folder meanwhile. */
  const create = async (path: string): Promise<FileHandle> => {
    for (let triesLeft = CREATE_TRIES; ; triesLeft -= 1) {
      try {
        await ensureFolder(dirname(path))
        return await open(path, 'wx', 0o600)
      } catch (error) {
        // `mkdir` fails, too, when a folder that it found is removed before it looks at it.
        if (triesLeft <= 1) throw error
        nullIfMissing(error as NodeJS.ErrnoException)
      }
    }
  }

  const filesOf = async (name: string): Promise<ObjectEntry[]> => {
    const files = (await readdir(join(folder, name)).catch(nullIfMissing)) ?? []
    const found = await Promise.all(
      files.map(async (file) => {
        const path = `${name}/${file}`
        const entry = await stat(join(folder, path)).catch(nullIfMissing)
        return entry && { key: path.replace('~', '/'), bytes: entry.size, modifiedAt: entry.mtimeMs }
      }),
    )
    return found.filter((entry) => entry !== null)
  }
  /** The files of one call, or of each in turn, also unfinished ones. */
  const walk = async function* (prefix: string): AsyncGenerator<ObjectEntry[]> {
    const [account = '', call] = prefix.split('/')
    if (call) {
      yield filesOf(`${account}~${call}`)
      return
    }
    const all = await opendir(folder).catch(nullIfMissing)
    for await (const entry of all ?? []) {
      if (account !== '' && !entry.name.startsWith(`${account}~`)) continue
      if (entry.isDirectory()) yield filesOf(entry.name)
    }
  }
  const remove = async (keys: readonly string[]): Promise<void> => {
    await Promise.all(keys.map((key) => rm(pathOf(key), { force: true })))
    for (const path of new Set(keys.map((key) => dirname(pathOf(key))))) await rmdir(path).catch(nullIfInUse)
  }
  return {
    async write(key, content) {
      const path = pathOf(key)
      const file = await create(path + UNFINISHED)
      try {
        await pipeline(content, file.createWriteStream())
        await rename(path + UNFINISHED, path)
      } catch (error) {
        await remove([key + UNFINISHED])
        throw error
      }
    },
    async read(key) {
      const file = await open(pathOf(key)).catch(nullIfMissing)
      return file?.createReadStream() ?? null
    },
    async *list(prefix) {
      for await (const entries of walk(prefix)) yield entries.filter((entry) => !isUnfinished(entry))
    },
    remove,
    async removeUnfinished(before) {
      for await (const entries of walk('')) {
        const old = entries.filter((entry) => isUnfinished(entry) && entry.modifiedAt < before)
        if (old.length > 0) await remove(old.map(({ key }) => key))
      }
    },
    async freeBytes() {
      await ensureFolder(folder)
      const { bavail, bsize } = await statfs(folder)
      return bavail * bsize
    },
    close: () => undefined,
  }
}

/** A file can be removed with its call while it is being read. */
function nullIfMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT') return null
  throw error
}

/** A call's folder stays while it has other files. */
function nullIfInUse(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOTEMPTY' || error.code === 'EEXIST') return null
  return nullIfMissing(error)
}
