import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
/** Lines of all files that the way of a call imports, types included. It is lowered with them; a commit that raises it says why. */
const LINES_MAX = 39_200
const FILE = /`([\w./-]+\.(?:ts|lua))`/g
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.[^']+)'/g

/** The files in the table of docs/way-of-a-call.md; those without a folder are in that of the file before. */
function filesOnTheWay(): string[] {
  const [table = ''] = readFileSync(join(ROOT, 'docs/way-of-a-call.md'), 'utf8').split('\n## ')
  return table
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .flatMap((line) => {
      let folder = ''
      return [...(line.split('|')[2] ?? '').matchAll(FILE)].map(([, name = '']) => {
        const path = /^(src|workers)\//.test(name) ? name : join(folder, name)
        if (path === name) folder = dirname(name)
        return join(ROOT, path)
      })
    })
}

test('a call needs no more code than it did', () => {
  const files = filesOnTheWay()
  expect(files.filter((file) => !existsSync(file))).toEqual([])
  const texts = new Map<string, string>()
  for (const file of files) {
    if (texts.has(file)) continue
    const text = readFileSync(file, 'utf8')
    texts.set(file, text)
    const imported = [...text.matchAll(IMPORT)].map(([, name = '']) => resolve(dirname(file), name))
    files.push(...imported.filter((path) => path.endsWith('.ts')))
  }
  const lines = [...texts.values()].reduce((sum, text) => sum + text.split('\n').length - 1, 0)
  const folders = [...texts.keys()].map((file) => relative(ROOT, dirname(file)))
  expect(folders).toContain('src/billing/holds')
  expect(lines).toBeLessThanOrEqual(LINES_MAX)
})
