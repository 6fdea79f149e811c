import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { arenaNames, arenaPrompts } from '../../src/core/auto/arena-predictions.ts'
import { parseCatalogDocument } from '../../src/core/catalog/parse-catalog-document.ts'
import { exampleDocument } from '../catalog/example-document.ts'
import { ofRunner } from '../helpers/stack-part.ts'

const ENTRY = resolve(import.meta.dirname, '../../src/cli/router.ts')

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'router-cli-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Runs the command in a process of its own: no services, no network. */
function router(args: string[], environment: Record<string, string> = {}) {
  return new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
    const options = { env: { ...ofRunner(), ...environment }, cwd: folder }
    execFile(process.execPath, [ENTRY, ...args], options, (error, stdout, stderr) => {
      done({ code: Number(error?.code ?? 0), stdout, stderr })
    })
  })
}

const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('npm run router', () => {
  test('scores a file of prompts and of messages, line by line, in its order', async () => {
    const hard =
      'Prove that every bounded sequence of reals has a convergent subsequence, then give a counterexample in an infinite-dimensional space, and explain which step of the proof fails there.'
    const rows = [
      { id: 1, prompt: 'hello' },
      { id: 'two', messages: [{ role: 'user', content: hard }] },
      { id: 3, prompt: hard },
      { id: 4, prompt: '' },
    ]
    await writeFile(join(folder, 'rows.jsonl'), `${rows.map((row) => JSON.stringify(row)).join('\n')}\n\n`)
    const { code, stdout } = await router(['score', 'rows.jsonl'])
    expect(code).toBe(0)
    const scored = lines(stdout)
    expect(scored.map(({ id }) => id)).toEqual([1, 'two', 3, 4])
    expect(scored[1].score).toBe(scored[2].score)
    expect(scored[1].score).toBeGreaterThan(scored[0].score)
    expect(scored[3]).toEqual({
      id: 4,
      score: 0,
      kind: 'other',
      model: expect.any(String),
    })
    const flags = ['--profile', 'premium', '--point-usd', '500']
    const premium = lines((await router(['score', 'rows.jsonl', ...flags])).stdout)
    expect(premium[1].score).toBe(scored[1].score)
    expect(premium[1].model).not.toBe(scored[1].model)
  })

  test('fits prices of a point for the catalog document to a file of traffic', async () => {
    const rows = Array.from({ length: 50 }, (_, id) => ({
      id,
      prompt: `Which of these numbers is it? ${'7 '.repeat(id)}`,
    }))
    await writeFile(join(folder, 'rows.jsonl'), rows.map((row) => JSON.stringify(row)).join('\n'))
    const { code, stdout } = await router(['calibrate', 'rows.jsonl'])
    expect(code).toBe(0)
    const { auto_point_usd } = JSON.parse(stdout)
    expect(auto_point_usd.premium).toBeGreaterThan(auto_point_usd.eco)
    const document = { ...exampleDocument(), auto_point_usd }
    expect(parseCatalogDocument(document).kind).toBe('document')
  })

  test('says which line it cannot read, and refuses wrong arguments', async () => {
    await writeFile(join(folder, 'rows.jsonl'), '{"id":1,"prompt":"hello"}\n{"id":2}\n')
    const bad = await router(['score', 'rows.jsonl'])
    expect(bad).toMatchObject({ code: 1, stdout: '' })
    expect(bad.stderr).toContain('line 2')
    expect((await router(['score', 'rows.jsonl', '--profile', 'cheap'])).code).toBe(2)
    expect((await router(['score', 'rows.jsonl', '--point-usd', '-1'])).code).toBe(2)
    expect((await router(['explain'])).code).toBe(2)
  })

  test('predicts in the format of RouterArena, by its names of models', async () => {
    const prompts = [
      {
        'global index': 'MadeUp_0',
        prompt_formatted: 'Please answer.\n\nWhat is 2 + 2?',
        prompt: 'What is 2 + 2?',
      },
      { 'global index': 'MadeUp_1', prompt: 'hello' },
    ]
    await writeFile(join(folder, 'catalog.json'), JSON.stringify(exampleDocument()))
    await writeFile(join(folder, 'prompts.json'), JSON.stringify(prompts))
    await writeFile(join(folder, 'names.json'), JSON.stringify({ 'acme/large-1': 'large' }))
    const { stdout } = await router(['arena', 'prompts.json', '--names', 'names.json', '--all'], {
      CATALOG_FILE: join(folder, 'catalog.json'),
    })
    const rest = { prediction: 'large', generated_result: null, cost: null, accuracy: null }
    expect(JSON.parse(stdout)).toEqual([
      { 'global index': 'MadeUp_0', prompt: 'Please answer.\n\nWhat is 2 + 2?', ...rest },
      { 'global index': 'MadeUp_1', prompt: 'hello', ...rest },
    ])
    const lines = prompts.map((prompt) => JSON.stringify(prompt)).join('\n')
    expect(arenaPrompts(`${lines}\n`)).toEqual(arenaPrompts(JSON.stringify(prompts)))
    expect(() => arenaPrompts('{"prompt": "hello"}')).toThrow('entry 1')
    expect(() => arenaNames([])).toThrow('names')
  })

  test('explains what each profile would try, on the catalog of the environment', async () => {
    const file = join(folder, 'catalog.json')
    await writeFile(file, JSON.stringify(exampleDocument()))
    const known = await router(['explain', 'hello', '--json'], { CATALOG_FILE: file, ACME_API_KEY: 'k' })
    expect(known.code).toBe(0)
    const { score, kind, features, profiles } = JSON.parse(known.stdout)
    expect(score).toBeLessThan(0.2)
    expect(kind).toBe('chat')
    expect(features[0]).toEqual({ name: expect.any(String), effect: expect.any(Number) })
    expect(profiles[0]).toMatchObject({
      profile: 'eco',
      pointUsd: 0.1,
      models: ['acme/large-1'],
    })
    expect(profiles[0].candidates[0]).toMatchObject({ model: 'acme/large-1', basis: 'price' })
    const messages = [
      { role: 'user', content: 'A long text. '.repeat(1_000) },
      { role: 'assistant', content: 'Yes.' },
      { role: 'user', content: 'hello' },
    ]
    await writeFile(join(folder, 'talk.json'), JSON.stringify({ messages }))
    const talk = await router(['explain', '--messages', 'talk.json', '--all'], { CATALOG_FILE: file })
    expect(talk.stdout).toContain('stays on acme/large-1')
    const keyless = await router(['explain', 'hello'], { CATALOG_FILE: file })
    expect(keyless.stdout).toContain('no provider key')
    const all = (await router(['explain', 'hello', '--all'], { CATALOG_FILE: file })).stdout
    expect(all).toContain('kind chat')
    expect(all).toMatch(
      /premium: 10 USD per point.*\n +acme\/large-1 +quality 0\.\d{3} \(price\) +\d+ tokens, .* USD per 1,000 +value/,
    )
  })
})
