import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkSettings } from '../../tools/launcher/start/gateway-environment.ts'

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shuntyard-settings-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('nothing has to be set, and what is set is checked before anything starts', async () => {
  await checkSettings({ PORT: '', CATALOG_FILE: undefined })
  await expect(checkSettings({ MASTER_KEY: 'short' })).rejects.toThrow(/^MASTER_KEY has 3 bytes/)
  await expect(checkSettings({ WORKER_CONCURRENCY: 'many' })).rejects.toThrow(/^WORKER_CONCURRENCY must be/)
})

test('the catalog file is there, is JSON, and is a catalog', async () => {
  const file = join(folder, 'catalog.json')
  const check = () => checkSettings({ CATALOG_FILE: file })
  await expect(check()).rejects.toThrow(/catalog\.json cannot be read: ENOENT/)
  await writeFile(file, '{"models":')
  await expect(check()).rejects.toThrow(/catalog\.json is not JSON/)
  await writeFile(file, '{"models": [{}]}')
  await expect(check()).rejects.toThrow(/catalog is not valid:\n.*models\[0\]\.id: required/)
  await writeFile(file, '{"changes": {"models": [{"id": "gpt-4o", "disabled": true}]}}')
  await check()
})
