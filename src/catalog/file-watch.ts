import { type FSWatcher, watch } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename, dirname } from 'node:path'

export interface FileWatch {
  close(): void
}

/** Delay after the last change event, so that a file written in place is complete when it is read. */
const SETTLE_MS = 100
/** Polling detects what file events miss: network file systems, bind mounts, a replaced folder. */
const POLL_MS = 1_000

/**
 * Calls back when a file's content may have changed, whether it was written in place or replaced by a
 * rename. Watches the folder, because a rename replaces the file behind the name.
 * @param onWatchError called if file events are not available; polling continues
 */
export async function watchFile(
  path: string,
  onChange: () => void,
  onWatchError: (error: Error) => void,
): Promise<FileWatch> {
  let closed = false
  let known = await signature(path)
  let settle: NodeJS.Timeout | undefined

  const check = async () => {
    const current = await signature(path)
    if (closed || current === known) return
    known = current
    clearTimeout(settle)
    settle = setTimeout(onChange, SETTLE_MS)
  }
  const checkNow = () => {
    check().catch(onWatchError)
  }

  let watcher: FSWatcher | undefined
  try {
    watcher = watch(dirname(path), (_event, name) => {
      if (name === null || name === basename(path)) checkNow()
    })
    watcher.on('error', onWatchError)
    watcher.unref()
  } catch (error) {
    onWatchError(error as Error)
  }
  const poll = setInterval(checkNow, POLL_MS)
  poll.unref()

  return {
    close() {
      closed = true
      clearTimeout(settle)
      clearInterval(poll)
      watcher?.close()
    },
  }
}

/** A signature that changes whenever the file does; a missing file has one too. */
async function signature(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs } = await stat(path, { bigint: true })
    return `${ino}:${size}:${mtimeNs}`
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing'
    throw error
  }
}
