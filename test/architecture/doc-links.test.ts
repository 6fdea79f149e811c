import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { headingId } from '../../web/lib/docs/doc-text.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const pagesOf = (folder: string) => readdirSync(join(ROOT, folder)).map((name) => `${folder}/${name}`)
const FOLDERS = ['docs', 'docs/decisions', '.github']
const PAGES = [
  ...['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md'],
  ...FOLDERS.flatMap(pagesOf).filter((page) => page.endsWith('.md')),
]

const textOf = (path: string): string => readFileSync(path, 'utf8').replace(/^\s*```[\s\S]*?^\s*```/gm, '')

/** The fragments that lead somewhere on a page. */
const fragmentsOf = (path: string): string[] =>
  [...textOf(path).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => headingId(heading))

/** The links of a page that lead to another file or to a heading, without those that do. */
function danglingLinks(page: string): string[] {
  const path = join(ROOT, page)
  const links = [...textOf(path).matchAll(/\]\((?!\w+:)([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter((link) => {
    const [file = '', fragment] = link.split('#')
    const target = file === '' ? path : resolve(dirname(path), file)
    if (!existsSync(target)) return true
    return fragment !== undefined && !fragmentsOf(target).includes(fragment)
  })
}

test.each(PAGES)('the links of %s lead to files and headings that exist', (page) => {
  expect(danglingLinks(page), relative(ROOT, page)).toEqual([])
})

test.each(PAGES)('the headings of %s have fragments of their own', (page) => {
  const fragments = fragmentsOf(join(ROOT, page))
  expect(fragments.filter((fragment, index) => fragments.indexOf(fragment) !== index)).toEqual([])
})

test('the changelog begins with the version of the package', () => {
  const [, version] = /^## (\S+)/m.exec(readFileSync(join(ROOT, 'CHANGELOG.md'), 'utf8')) ?? []
  expect(version).toBe(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version)
})
