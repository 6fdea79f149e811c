import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findChromium } from '../../tools/launcher/services/chromium-program.ts'

let folder: string

/** A program that answers `--version` with this. */
async function program(name: string, version: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `#!/bin/sh\necho "${version}"\n`)
  await chmod(path, 0o755)
  return path
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'switchyard-chromium-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('takes the Chromium that is named, before any on the PATH', async () => {
  const named = await program('my-browser', 'Chromium 150.0.1.2')
  const found = await findChromium([], { CHROMIUM_PATH: named, PATH: process.env.PATH })
  expect(found).toEqual({ command: named, environment: {} })
})

test('says so when what is named is no Chromium', async () => {
  const other = await program('other-browser', 'Gecko 150')
  await expect(findChromium([], { CHROMIUM_PATH: other })).rejects.toThrow(
    /CHROMIUM_PATH names .*other-browser, which is no Chromium that runs/,
  )
})

test('passes over a stand-in on the PATH that does not run one, and takes the next', async () => {
  await program('chromium', 'Install it from the shop')
  const second = await program('google-chrome', 'Google Chrome 150.0.1.2')
  expect(await findChromium([], { PATH: folder })).toEqual({ command: second, environment: {} })
})
