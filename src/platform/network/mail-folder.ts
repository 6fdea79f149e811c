import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rename, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

/** The oldest beyond these are deleted. */
const FILES_MAX = 500
const NAME_LENGTH_MAX = 120

/**
 * A folder of messages that are not sent, one `.eml` file each, for a gateway that is tried out: their names have time,
 * subject and recipient. Only their owner may read them, since links in them work.
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
