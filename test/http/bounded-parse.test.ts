import { expect, test } from 'vitest'
import { parseStored } from '../../src/http/bounded-parse.ts'
import { jsonArrayOf } from '../../src/http/calls/stored-reads.ts'

test('the stored items that a request brings have no more values together than a body may', async () => {
  const turn = Buffer.from(JSON.stringify([{ content: Array(60_000).fill('x') }]))
  expect(await parseStored(jsonArrayOf([turn]))).toEqual([JSON.parse(turn.toString())])
  await expect(parseStored(jsonArrayOf([turn, turn]))).rejects.toThrow(/at most 100000 names and values/)
})
