import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const FOLDER = resolve(import.meta.dirname, '../../docs/decisions')
const read = (file: string): string => readFileSync(join(FOLDER, file), 'utf8')
const PAGES = readdirSync(FOLDER).filter((file) => file !== 'README.md')
const numberOf = (file: string): number => Number(file.slice(0, 4))
const titleOf = (file: string): string => /^# \d+\. (.+)$/m.exec(read(file))?.[1] ?? ''

/** A row of the index: the number, the title, and where its link leads. */
const ROWS = [...read('README.md').matchAll(/^\| [^|]+ \| (\d+) \| \[(.+)\]\((\S+)\) \|$/gm)].map(
  ([, number, title = '', link = '']) => ({ number: Number(number), title, link }),
)

test.each(PAGES)('the title of decision %s has the number of its file', (file) => {
  expect(read(file)).toMatch(new RegExp(`^# ${numberOf(file)}\\. \\S`))
})

test('each number names one decision', () => {
  const numbers = PAGES.map(numberOf)
  expect(numbers.filter((number, index) => numbers.indexOf(number) !== index)).toEqual([])
})

test('the index of decisions lists every page exactly once, by its title', () => {
  const byNumber = (a: { number: number }, b: { number: number }) => a.number - b.number
  const recorded = PAGES.map((file) => ({ number: numberOf(file), title: titleOf(file), link: file }))
  expect(ROWS.toSorted(byNumber)).toEqual(recorded.toSorted(byNumber))
})

test.each(PAGES)('decision %s binds today: none is kept that another one replaced', (file) => {
  expect(read(file)).not.toMatch(/\bsupersede/i)
})
