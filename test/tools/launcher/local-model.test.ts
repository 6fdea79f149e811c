import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { prepareLocalModel, wantsLocalModel } from '../../../tools/launcher/services/local-model.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shuntyard-local-model-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test.each([
  [undefined, false],
  ['', false],
  ['0', false],
  ['1', true],
  ['true', true],
])('LOCAL_MODEL=%j asks for a local model: %j', (value, wanted) => {
  expect(wantsLocalModel({ LOCAL_MODEL: value })).toBe(wanted)
})

test('the start without Python prints what to install', async () => {
  const message = 'Python 3 with its module venv is needed (Debian: apt-get install python3-venv)'
  await expect(prepareLocalModel(folder, { PATH: folder })).rejects.toThrow(message)
})
