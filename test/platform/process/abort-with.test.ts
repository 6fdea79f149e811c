import { expect, test } from 'vitest'
import { abortWith } from '../../../src/platform/process/abort-with.ts'

test('aborts with its signal, for the same reason, and by itself without it', () => {
  const whole = new AbortController()
  const part = abortWith(whole.signal)
  const other = abortWith(whole.signal)
  part.abort()
  expect([part.signal.aborted, other.signal.aborted, whole.signal.aborted]).toEqual([true, false, false])
  whole.abort('over')
  expect([other.signal.reason, abortWith(whole.signal).signal.reason]).toEqual(['over', 'over'])
})
