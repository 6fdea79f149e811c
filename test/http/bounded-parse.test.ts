import { expect, test } from 'vitest'
import { jsonArrayOf } from '../../src/http/account-api/stored-reads.ts'
import { parseStored } from '../../src/http/bounded-parse.ts'

test('the stored items that a request brings have no more values together than a body may', async () => {
  const turn = Buffer.from(JSON.stringify([{ content: Array(60_000).fill('x') }]))
  expect(await parseStored(jsonArrayOf([turn]))).toEqual([JSON.parse(turn.toString())])
  await expect(parseStored(jsonArrayOf([turn, turn]))).rejects.toThrow(/at most 100000 names and values/)
})
