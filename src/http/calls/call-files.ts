import type { FastifyReply } from 'fastify'
import type { CleanupTasks } from '../../calls/cleanup-tasks.ts'
import type { BodyOwner, BodyStore } from '../../platform/body-store/body-store.ts'
import { whenResponseCloses } from './event-stream.ts'

interface CallFilesDependencies {
  files: Pick<BodyStore, 'remove'>
  cleanup: CleanupTasks
}

/** The files of one call, which are removed once its response is closed and the call is over. */
export function createCallFiles(
  owner: BodyOwner,
  reply: FastifyReply,
  { files, cleanup }: CallFilesDependencies,
) {
  const holders = new Set(['response', 'call'])
  const release = (holder: string) => {
    if (holders.delete(holder) && holders.size === 0) cleanup.add(() => files.remove(owner))
  }
  let isDispatched = false
  whenResponseCloses(reply.raw, () => release('response'))
  return {
    owner,
    /** See ServeOptions. */
    dispatched: () => {
      isDispatched = true
      return () => release('call')
    },
    /** Removes the files of a request that failed; `call` is absent if the request had none yet. */
    failed: () => {
      if (!isDispatched) release('call')
    },
  }
}
