import { expect, test } from 'vitest'
import { sharesOneProcess } from '../../../tools/launcher/start/gateway-plans.ts'

test.each([
  [undefined, 2, true],
  [undefined, 3, false],
  ['', 1, true],
  ['false', 1, false],
  ['true', 64, true],
])(
  'with ONE_PROCESS %j on %i processors, API and workers share one process: %j',
  (value, processors, shared) => {
    expect(sharesOneProcess({ ONE_PROCESS: value }, processors)).toBe(shared)
  },
)
