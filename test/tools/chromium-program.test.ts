import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { findChromium } from '../browser/chromium-program.ts'

let folder: string

/** A program that answers `--version` with this. */
async function program(name: string, version: string): Promise<string> {
  const path = join(folder, name)
  await writeFile(path, `#!/bin/sh\necho "${version}"\n`)
  await chmod(path, 0o755)
  return path
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shuntyard-chromium-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('CHROMIUM_PATH is taken before any Chromium on the PATH', async () => {
  const named = await program('my-browser', 'Chromium 150.0.1.2')
  const found = await findChromium([], { CHROMIUM_PATH: named, PATH: process.env.PATH })
  expect(found).toEqual({ command: named, environment: {} })
})

test('a CHROMIUM_PATH that is no Chromium is refused', async () => {
  const other = await program('other-browser', 'Gecko 150')
  await expect(findChromium([], { CHROMIUM_PATH: other })).rejects.toThrow(
    /CHROMIUM_PATH names .*other-browser, which is no Chromium that runs/,
  )
})

test('a stand-in on the PATH that runs no Chromium is skipped for the next one', async () => {
  await program('chromium', 'Install it from the shop')
  const second = await program('google-chrome', 'Google Chrome 150.0.1.2')
  expect(await findChromium([], { PATH: folder })).toEqual({ command: second, environment: {} })
})
