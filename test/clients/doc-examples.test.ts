import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DOC_PAGES } from '../../web/lib/docs/doc-pages.ts'
import { bodyOf, WRITTEN_ADDRESS } from '../../web/lib/docs/doc-text.ts'
import { testAccount, testStack } from '../helpers/resources.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const run = promisify(execFile)

interface Example {
  page: string
  number: number
  language: string
  code: string
}

/** The programs of the docs that call the gateway; `…` stands for what a reader fills in. */
const EXAMPLES: Example[] = DOC_PAGES.flatMap(({ file }) => {
  const markdown = readFileSync(join(ROOT, 'docs', file), 'utf8')
  return [...markdown.matchAll(/^```(sh|js)\n([\s\S]*?)^```/gm)]
    .map(([, language = '', code = ''], number) => ({ page: file, number, language, code }))
    .filter(({ code }) => code.includes(WRITTEN_ADDRESS) && !code.includes('…'))
})

let folder: string

const stack = testStack({
  models: {
    'gpt-5-mini': [{ at: 'alpha', model: 'words-12' }],
    'anthropic/claude-sonnet-5': [{ at: 'beta', model: 'words-12' }],
  },
})
const owner = testAccount(stack, '5')
beforeAll(async () => {
  // Packages are found from here.
  folder = await mkdtemp(join(ROOT, 'test', 'clients', '.examples-'))
})
afterAll(async () => {
  await rm(folder, { recursive: true, force: true })
})

test('there are examples to run, in both languages', () => {
  expect(new Set(EXAMPLES.map(({ language }) => language))).toEqual(new Set(['sh', 'js']))
})

test.each(EXAMPLES)('example $number ($language) of $page runs', async ({ number, language, code }) => {
  const file = join(folder, `${number}.${language === 'js' ? 'mjs' : 'sh'}`)
  await writeFile(file, bodyOf(code, stack.url))
  const [program, ...options] = language === 'js' ? [process.execPath] : ['/bin/sh', '-e']
  const env = { ...process.env, SHUNTYARD_API_KEY: owner.key }
  const { stdout } = await run(program, [...options, file], { env, timeout: 30_000 })
  expect(stdout.trim()).not.toBe('')
  // curl prints a refusal like any answer.
  if (language === 'sh') expect(stdout).not.toContain('"error"')
})
