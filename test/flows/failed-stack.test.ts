import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { startStack } from '../helpers/stack.ts'

/** The processes that this one has started and that have not ended. */
async function children(): Promise<string[]> {
  const threads = await readdir('/proc/self/task')
  const lists = await Promise.all(threads.map((id) => readFile(`/proc/self/task/${id}/children`, 'utf8')))
  return lists.flatMap((list) => list.split(' ')).filter(Boolean)
}

test('a stack whose parts cannot start rejects with the reason and leaves no process behind', async () => {
  const before = await children()
  // No process of the gateway starts with a catalog that leaves no model.
  const stack = startStack({ models: {}, processes: true, dispatchWorkers: 2 })
  await expect(stack).rejects.toThrow(/ended at the start/)
  await expect.poll(async () => (await children()).filter((id) => !before.includes(id))).toEqual([])
})
