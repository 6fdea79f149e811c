import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectBooksInOrder } from '../helpers/books.ts'
import { ask, type Caller, stream } from '../helpers/chat-client.ts'
import { startStack, type TestStack } from '../helpers/stack.ts'

const STREAMS = 20
const WORDS = 400

let stack: TestStack
let caller: Caller
let whole: string

beforeAll(async () => {
  stack = await startStack({
    models: {
      'test/plain': [{ at: 'alpha', model: `words-${WORDS}.multibyte` }],
      'test/steady': [{ at: 'alpha', model: `words-${WORDS}.multibyte.rate-100` }],
    },
  })
  caller = { url: stack.url, key: (await stack.account('5.00')).key }
  whole = (await ask(caller, { model: 'test/plain' })).text!
})
afterAll(() => stack?.close())

/** Breaks the connection over which an API instance hears frames: what is published meanwhile is lost. */
async function deafen(): Promise<number> {
  const list = (await stack.redis.client('LIST')) as string
  const ids = [...list.matchAll(/^id=(\d+).* name=switchyard-api-replies /gm)].map(([, id]) => id!)
  for (const id of ids) await stack.redis.client('KILL', 'ID', id)
  return ids.length
}

test('every stream is complete, byte for byte, however often the frames on their way are lost', async () => {
  const open = await Promise.all(
    Array.from({ length: STREAMS }, () => stream(caller, { model: 'test/steady' })),
  )
  let ended = 0
  const ends = open.map((one) => one.end.then(() => ended++))
  let deafened = 0
  for (let said = 20; ended === 0; said += 60) {
    await Promise.race([open[0]!.said(said), ends[0]]).catch(() => undefined)
    deafened += await deafen()
  }
  await Promise.all(ends)
  expect(deafened).toBeGreaterThan(2)
  for (const { soFar } of open) expect(soFar).toMatchObject({ done: true, errorCode: null, text: whole })
  await expectBooksInOrder(stack)
})

test('an answer whose last frame is lost arrives all the same', async () => {
  const open = await stream(caller, { model: 'test/steady', max_tokens: 100 })
  await open.said(300)
  // Deaf until the provider has said everything.
  for (let round = 0; round < 10; round++) {
    await deafen()
    await expect.poll(deafen, { interval: 10 }).toBeGreaterThan(0)
  }
  const answer = await open.end
  expect(answer).toMatchObject({ done: true, finishReason: 'length' })
  expect(whole.startsWith(answer.text)).toBe(true)
  await expectBooksInOrder(stack)
})
