import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { StartError } from '../../../src/core/kernel/errors.ts'
import { startFailure } from '../../../src/platform/process/explain-failed-start.ts'

test('what an operator can mend is one line, everything else has its stack', () => {
  expect(startFailure(new StartError('REDIS_URL is required'))).toBe('REDIS_URL is required')
  expect(startFailure(new Error('a bug'))).toMatch(/a bug\n\s+at /)
  expect(startFailure('thrown')).toBe('thrown')
})

test('a port that is taken is named', async () => {
  const first = createServer()
  await new Promise<void>((listening) => first.listen(0, '127.0.0.1', listening))
  const { port } = first.address() as { port: number }
  const second = createServer()
  const error = await new Promise((failed) => second.once('error', failed).listen(port, '127.0.0.1'))
  expect(startFailure(error)).toBe(`it cannot listen on 127.0.0.1:${port}, something else listens there`)
  first.close()
})
