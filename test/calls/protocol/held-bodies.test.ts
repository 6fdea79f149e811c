import { expect, test } from 'vitest'
import { createHeldBodies } from '../../../src/calls/protocol/call-bodies.ts'
import type { CallId } from '../../../src/core/kernel/ids.ts'
import { eventually } from '../../helpers/eventually.ts'

const LIMITS = { workerBodyBytes: 100, bodyLimitBytes: 60 }
const id = (call: number) => `chatcmpl_${call}` as CallId

/** Bodies of 30 bytes beside the queue; notes which were read. */
function startBodies(waitMs?: number) {
  const reads: CallId[] = []
  const bodies = createHeldBodies(
    {
      async read(callId) {
        reads.push(callId)
        return 'x'.repeat(30)
      },
      drop: async () => undefined,
    },
    LIMITS,
    waitMs,
  )
  return { bodies, reads }
}

test('a large body is read only once there is room for the longest, in order of arrival', async () => {
  const { bodies, reads } = startBodies()
  const all = [1, 2, 3, 4].map((call) => bodies.read(id(call), null))
  // The first may be of 60 bytes until it is read; two of 30 leave no room for one of 60.
  await all[1]
  expect(reads).toEqual([id(1), id(2)])
  // What is in its job is here already: it does not wait, and counts if it is long.
  await bodies.read(id(9), 'sealed')
  bodies.release(id(1))
  await all[2]
  bodies.release(id(2))
  bodies.release(id(2))
  await all[3]
  expect(reads).toEqual([id(1), id(2), id(9), id(3), id(4)])
})

test('a long body of a job waits for no room, and leaves less for those beside the queue', async () => {
  const { bodies, reads } = startBodies()
  const sealed = Buffer.alloc(300 * 1024)
  await Promise.all([bodies.read(id(1), sealed), bodies.read(id(2), sealed)])
  const beside = bodies.read(id(3), null)
  expect(reads).toEqual([id(1), id(2)])
  bodies.release(id(1))
  await beside
  expect(reads).toEqual([id(1), id(2), id(3)])
})

test('a call that finds no room in time fails, and holds none', async () => {
  const { bodies, reads } = startBodies(1)
  await Promise.all([bodies.read(id(1), null), bodies.read(id(2), null)])
  await expect(bodies.read(id(3), null)).rejects.toThrow('no space')
  bodies.release(id(3))
  bodies.release(id(1))
  await bodies.read(id(4), null)
  await eventually(() => expect(reads).toEqual([id(1), id(2), id(4)]))
})
