import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const SOURCES = ['src', 'workers', 'web', 'tools', 'test', 'prisma']
const pagesOf = (folder: string) => readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`)
const PAGES = ['README.md', ...['docs', 'docs/decisions'].flatMap(pagesOf)]
const NAMED = /(?<![\w./-])(?:src|workers|web|tools|test|prisma)\/[\w./-]+\.(?:tsx?|mjs|lua|sql|json|css)\b/g
/** A file that is named without its folder, as `call-hub.ts`. */
const NAMED_BARE = /(?<=`)[\w.-]+\.(?:tsx?|mjs|lua)(?=`)/g

const NAMES = new Set(
  SOURCES.flatMap((folder) => readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })).map(
    (path) => basename(path),
  ),
)

test.each(PAGES.filter((page) => page.endsWith('.md')))('the files that %s names exist', (page) => {
  const text = readFileSync(join(ROOT, page), 'utf8')
  const missing = (text.match(NAMED) ?? []).filter((path) => !existsSync(join(ROOT, path)))
  const missingBare = (text.match(NAMED_BARE) ?? []).filter((name) => !NAMES.has(name))
  expect([...missing, ...missingBare]).toEqual([])
})

test('the page on the way of a call names every file of src/calls', () => {
  const page = readFileSync(join(ROOT, 'docs/way-of-a-call.md'), 'utf8')
  const files = readdirSync(join(ROOT, 'src/calls'), { recursive: true, encoding: 'utf8' })
  const names = files.map((path) => basename(path)).filter((name) => /\.(ts|lua)$/.test(name))
  expect(names.filter((name) => !page.includes(`${name}\``))).toEqual([])
})
