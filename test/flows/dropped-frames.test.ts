import { beforeAll, expect, test } from 'vitest'
import { ask, stream } from '../helpers/chat-client.ts'
import { expectLedgerInOrder } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const STREAMS = 20
const WORDS = 400
/** The last words of an answer come when the test has lost enough. */
const BEFORE_HELD = WORDS - 20
/** Frames are lost up to here, which is well before those. */
const LOST_CHARACTERS = 1_200

let whole: string

const stack = testStack({
  models: {
    'test/plain': [{ at: 'alpha', model: `words-${WORDS}.multibyte` }],
    'test/steady': [{ at: 'alpha', model: `words-${WORDS}.multibyte.rate-100.held-${BEFORE_HELD}` }],
    'test/halves': [{ at: 'alpha', model: `words-${WORDS}.multibyte.held-60` }],
  },
})
const caller = testAccount(stack, '5.00')
beforeAll(async () => {
  whole = (await ask(caller, { model: 'test/plain' })).text!
})

/** Breaks the connection over which an API instance hears frames: what is published meanwhile is lost. */
async function deafen(): Promise<number> {
  const list = (await stack.redis.client('LIST')) as string
  const ids = [...list.matchAll(/^id=(\d+).* name=shuntyard-api-replies /gm)].map(([, id]) => id!)
  for (const id of ids) await stack.redis.client('KILL', 'ID', id)
  return ids.length
}

test('every stream is complete, byte for byte, however often the frames on their way are lost', async () => {
  const open = await Promise.all(
    Array.from({ length: STREAMS }, () => stream(caller, { model: 'test/steady' })),
  )
  const [first] = open
  for (let said = 20; said < LOST_CHARACTERS; said = first!.soFar.text.length + 60) {
    // Something new: it is heard again.
    await first!.said(said)
    await expect.poll(deafen, { interval: 10 }).toBeGreaterThan(0)
  }
  stack.providers.release()
  await Promise.all(open.map((one) => one.end))
  for (const { soFar } of open) expect(soFar).toMatchObject({ done: true, errorCode: null, text: whole })
  await expectLedgerInOrder(stack)
})

test('an answer whose last frame is lost arrives all the same', async () => {
  const open = await stream(caller, { model: 'test/halves', max_tokens: 100 })
  await open.said(200)
  const { requests } = stack.providers.log
  // Deaf until the provider has said everything, which is sooner than a worker takes its API instance to be gone.
  await deafen()
  stack.providers.release()
  while (requests.at(-1)!.state === 'open') await deafen()
  const answer = await open.end
  expect(answer).toMatchObject({ done: true, finishReason: 'length' })
  expect(whole.startsWith(answer.text)).toBe(true)
  await expectLedgerInOrder(stack)
})
