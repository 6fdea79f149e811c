import { expect, test } from 'vitest'
import { prose } from '../../../tools/simulated-providers/completion.ts'

const LENGTHS = Array.from({ length: 120 }, (_, at) => at + 1)
const SEEDS = Array.from({ length: 12 }, (_, at) => at)

test.each(['', 'Hello!', 'Why do trains need shunting yards, and who throws the points?'])(
  'a completion for %j has exactly the words asked for, and ends with its sentence',
  (prompt) => {
    for (const words of LENGTHS)
      for (const seed of SEEDS) {
        const text = prose(prompt, words, seed)
        expect(text.split(' ')).toHaveLength(words)
        expect(text).toMatch(/[.]$/)
      }
  },
)

test('a completion of no words is empty', () => {
  expect(prose('Hello!', 0, 1)).toBe('')
})
