import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const pagesOf = (folder: string) => readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`)
const PAGES = ['README.md', ...pagesOf('docs'), ...pagesOf('docs/decisions')]
const NAMED = /(?<![\w./-])(?:src|workers|web|tools|test|prisma)\/[\w./-]+\.(?:tsx?|mjs|lua|sql|json|css)\b/g

test.each(PAGES.filter((page) => page.endsWith('.md')))('the files that %s names exist', (page) => {
  const named = readFileSync(join(ROOT, page), 'utf8').match(NAMED) ?? []
  expect(named.filter((path) => !existsSync(join(ROOT, path)))).toEqual([])
})
