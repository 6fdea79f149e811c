import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { simulateAllEnvironment } from '../../tools/launcher/start/gateway-environment.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shuntyard-simulate-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('without any provider key the simulated providers serve all models', () => {
  expect(simulateAllEnvironment(folder, {})).toEqual({ SIMULATE_ALL: 'true' })
})

test.each(['OPENAI_API_KEY', 'GROQ_API_KEY', 'HF_TOKEN'])('as soon as %s is set they do not', (name) => {
  expect(simulateAllEnvironment(folder, { [name]: 'key' })).toEqual({})
})

test("the key of an operator's own provider counts", async () => {
  const content = { providers: [{ id: 'acme', base_url: 'http://a', api_key_env: 'ACME_KEY' }] }
  await writeFile(join(folder, 'catalog.json'), JSON.stringify(content))
  const environment = { CATALOG_FILE: 'catalog.json' }
  expect(simulateAllEnvironment(folder, environment)).toEqual({ SIMULATE_ALL: 'true' })
  expect(simulateAllEnvironment(folder, { ...environment, ACME_KEY: 'key' })).toEqual({})
})

test('a catalog that replaces the built-in one is left alone', async () => {
  await writeFile(join(folder, 'catalog.json'), JSON.stringify({ replace: true }))
  expect(simulateAllEnvironment(folder, { CATALOG_FILE: 'catalog.json' })).toEqual({})
})
