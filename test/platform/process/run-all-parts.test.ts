import { expect, test } from 'vitest'
import { runAllParts } from '../../../src/platform/process/run-all-parts.ts'

const fails = (message: string) => () => Promise.reject(new Error(message))

test('every part runs, also after one that fails, and the failure names all that failed', async () => {
  const ran: string[] = []
  const parts = {
    keys: fails('too slow'),
    mails: async () => void ran.push('mails'),
    logs: fails('away'),
    refusals: async () => void ran.push('refusals'),
  }
  await expect(runAllParts(parts, new AbortController().signal)).rejects.toThrow(
    'failed: keys (too slow), logs (away)',
  )
  expect(ran).toEqual(['mails', 'refusals'])
})

test('no part begins once the process stops', async () => {
  const stop = new AbortController()
  const ran: string[] = []
  const parts = {
    keys: async () => {
      ran.push('keys')
      stop.abort()
    },
    mails: async () => void ran.push('mails'),
  }
  await runAllParts(parts, stop.signal)
  expect(ran).toEqual(['keys'])
})
