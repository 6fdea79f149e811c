import { expect, test } from 'vitest'
import { createConflictStore } from '../../src/billing/settlement/conflict-store.ts'
import { countTextTokens } from '../../src/providers/count-tokens.ts'
import { stream } from '../helpers/chat-client.ts'
import { expectLedgerInOrder, untilIdle } from '../helpers/ledger.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const STREAMS = 30
/** Of the ten words that are shown before the worker is paused, at the most. */
const BEGUN_CHARACTERS = 30

const stack = testStack({
  processes: ['dispatch'],
  models: { 'test/begun': [{ at: 'alpha', model: 'words-14.held-10' }] },
})
const caller = testAccount(stack, '5.00')

test('a stream that ended with an error while its worker was paused costs what was delivered', async () => {
  const open = await Promise.all(
    Array.from({ length: STREAMS }, () => stream(caller, { model: 'test/begun' })),
  )
  await Promise.all(open.map((one) => one.said(BEGUN_CHARACTERS)))
  const worker = stack.dispatch[0]!
  worker.pause()
  // The rest of the answers waits for the worker, with the news that their clients were told an error.
  stack.providers.release()
  const cut = await Promise.all(open.map(({ end }) => end))
  worker.resume()
  await untilIdle(stack)
  for (const answer of cut) {
    expect(answer).toMatchObject({ done: false, errorCode: 'all_providers_failed' })
    const record = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: answer.id! } })
    expect(record).toMatchObject({ status: 'interrupted', errorCode: 'all_providers_failed' })
    expect(record.completionTokens).toBe(await countTextTokens(answer.text))
  }
  expect(await createConflictStore(stack.postgres).open()).toEqual([])
  await expectLedgerInOrder(stack)
})
