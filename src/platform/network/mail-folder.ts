import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** Maximum number of files; the oldest are deleted. */
const FILES_MAX = 500
const NAME_LENGTH_MAX = 120

/**
 * Writes messages to a folder instead of sending them, one `.eml` file each, for a gateway on trial. A file name
 * contains time, subject and recipient. Only the owner may read the files, since the links in them work.
 */
export function createMailFolder(path: string) {
  return {
    async write({ subject, to }: { subject: string; to: string }, bytes: Uint8Array): Promise<void> {
      await mkdir(path, { recursive: true, mode: 0o700 })
      const time = new Date().toISOString().replace(/[:.]/g, '-')
      const words = `${subject} to ${to}`.replace(/[^\w@+.-]+/g, '-').slice(0, NAME_LENGTH_MAX)
      const file = join(path, `${time} ${words} ${randomBytes(2).toString('hex')}.eml`.replaceAll(' ', '_'))
      await writeFile(`${file}.new`, bytes, { mode: 0o600, flag: 'wx' })
      await rename(`${file}.new`, file)
      const files = (await readdir(path)).filter((name) => name.endsWith('.eml')).sort()
      await Promise.all(files.slice(0, -FILES_MAX).map((name) => unlink(join(path, name))))
    },
  }
}
