import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { headingId } from '../../web/lib/docs/doc-text.ts'

const FOLDER = resolve(import.meta.dirname, '../../docs/decisions')
const read = (file: string): string => readFileSync(join(FOLDER, file), 'utf8')
const PAGES = readdirSync(FOLDER).filter((file) => file !== 'README.md')
const numberOf = (file: string): number => Number(file.slice(0, 4))

/** A row of the index: the number, the title, where its link leads, and the status. */
const ROWS = [...read('README.md').matchAll(/^\| (\d+) \| \[(.+)\]\((\S+)\) \| (.+) \|$/gm)].map(
  ([, number, title = '', link = '', status = '']) => ({ number: Number(number), title, link, status }),
)

/** Every recorded decision: the title of each page, and the sections of records that were merged into one. */
const DECISIONS = PAGES.flatMap((file) =>
  [...read(file).matchAll(/^(##?) (\d+)\. (.+)$/gm)].map(([, marks, number, title = '']) => ({
    number: Number(number),
    title,
    link: marks === '#' ? file : `${file}#${headingId(`${number}. ${title}`)}`,
    mergedInto: marks === '#' ? undefined : file,
  })),
)

/** The pages that the sentences of a page which begin with the word link to, other than itself. */
function linkedAfter(word: string, file: string): string[] {
  const sentences = read(file).match(new RegExp(`\\b${word}\\b[^]*?[.:](?=\\s)`, 'g')) ?? []
  const links = sentences.flatMap((sentence) => sentence.match(/\d{4}-[\w-]+\.md/g) ?? [])
  return [...new Set(links)].filter((link) => link !== file).sort()
}

test.each(PAGES)('the title of %s has the number of its file', (file) => {
  expect(read(file)).toMatch(new RegExp(`^# ${numberOf(file)}\\. \\S`))
})

test('the index lists every decision exactly once, by its title', () => {
  const byNumber = (a: { number: number }, b: { number: number }) => a.number - b.number
  const listed = ROWS.map(({ number, title, link }) => ({ number, title, link }))
  const recorded = DECISIONS.map(({ number, title, link }) => ({ number, title, link }))
  expect(listed.sort(byNumber)).toEqual(recorded.sort(byNumber))
})

test('the status in the index is that of the page', () => {
  const expected = new Map(
    DECISIONS.map(({ number, link, mergedInto }) => {
      if (mergedInto !== undefined) return [number, `merged into [${numberOf(mergedInto)}](${mergedInto})`]
      const opening = read(link).match(/^# .+\n\nSuperseded( in part)? by (\[\d+\]\(\S+\))/)
      if (opening === null) return [number, 'accepted']
      return [
        number,
        opening[1] ? `accepted; superseded in part by ${opening[2]}` : `superseded by ${opening[2]}`,
      ]
    }),
  )
  expect(new Map(ROWS.map(({ number, status }) => [number, status]))).toEqual(expected)
})

test.each(PAGES)('what %s supersedes or is superseded by says so too', (file) => {
  for (const earlier of linkedAfter('Supersedes', file))
    expect(linkedAfter('Superseded', earlier), `${earlier} opens with "Superseded"`).toContain(file)
  for (const later of linkedAfter('Superseded', file))
    expect(linkedAfter('Supersedes', later), `${later} says "Supersedes"`).toContain(file)
})
