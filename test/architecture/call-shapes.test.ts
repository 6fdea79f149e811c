import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')
const filesOf = (folder: string) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`)

/** Each exported type of src, with the files that define it. */
const exported = new Map<string, string[]>()
for (const path of filesOf('src').filter((file) => !file.includes('prisma-client/'))) {
  for (const [, name] of read(path).matchAll(/^export (?:abstract )?(?:interface|type|class) (\w+)/gm))
    exported.set(name!, [...(exported.get(name!) ?? []), path])
}

const section = read('docs/way-of-a-call.md').split('## Its shapes\n')[1]!.split('\n## ')[0]!
const shapes = [...section.matchAll(/^\| `(\w+)` \| `([\w./-]+)` \|/gm)].map(([, name, file]) => [
  name!,
  file!,
])

/** Where the shapes of the way are passed on. */
const WAY = ['src/calls/api', 'src/calls/worker', 'src/core/routing', 'src/providers'].flatMap(filesOf)
const PATHS = new Set([...WAY, 'src/http/calls/serve-call.ts', 'src/billing/holds/admission.ts'])
const IS_SHAPE = /(?:Call|Caller|Needs|Request|Reply|Plan|Job|Envelope|Attempt)$/

test('no name of a type is exported by two files of src', () => {
  expect(exported.size).toBeGreaterThan(500)
  expect([...exported].filter(([, paths]) => paths.length > 1)).toEqual([])
})

test('the page on the way of a call names about twenty shapes, and each is where it says', () => {
  expect(shapes.length).toBeGreaterThan(15)
  expect(shapes.length).toBeLessThan(23)
  for (const [name, file] of shapes) expect([name, exported.get(name!)]).toEqual([name, [file]])
})

test('the files on the way of a call export no shape of a call that its page does not name', () => {
  const unnamed = [...exported].filter(
    ([name, paths]) =>
      IS_SHAPE.test(name) && paths.some((path) => PATHS.has(path)) && !section.includes(`\`${name}\``),
  )
  expect(unnamed).toEqual([])
})
