import { appendFileSync, cpSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import {
  consoleFolder,
  consoleIsCurrent,
  ensureConsole,
  SHARED_SOURCES,
} from '../../../tools/launcher/build-console.ts'

const ROOT = resolve(import.meta.dirname, '../../..')
const BUILD_TIMEOUT_MS = 120_000

describe('building the console', () => {
  let root: string

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'shuntyard-console-'))
    cpSync(consoleFolder(ROOT), consoleFolder(root), {
      recursive: true,
      filter: (path) => !path.endsWith('/dist'),
    })
    cpSync(join(ROOT, 'docs'), join(root, 'docs'), { recursive: true })
    for (const path of SHARED_SOURCES) cpSync(join(ROOT, path), join(root, path))
    cpSync(join(ROOT, 'package-lock.json'), join(root, 'package-lock.json'))
    symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  })

  afterEach(() => rmSync(root, { recursive: true, force: true }))

  test(
    'concurrent builds leave whole pages, and a changed source or package makes them stale',
    async () => {
      expect(consoleIsCurrent(root)).toBe(false)
      await Promise.all([ensureConsole(root), ensureConsole(root)])
      expect(consoleIsCurrent(root)).toBe(true)

      const added = join(consoleFolder(root), 'lib', 'added.ts')
      writeFileSync(added, 'export const added = 1\n')
      expect(consoleIsCurrent(root)).toBe(false)
      rmSync(added)
      expect(consoleIsCurrent(root)).toBe(true)

      for (const path of SHARED_SOURCES) {
        appendFileSync(join(root, path), '\n')
        expect(consoleIsCurrent(root)).toBe(false)
        cpSync(join(ROOT, path), join(root, path))
        expect(consoleIsCurrent(root)).toBe(true)
      }

      appendFileSync(join(root, 'package-lock.json'), '\n')
      expect(consoleIsCurrent(root)).toBe(false)
    },
    BUILD_TIMEOUT_MS,
  )

  test(
    'sources that cannot be built are named, and not taken for built',
    async () => {
      appendFileSync(join(consoleFolder(root), 'main.tsx'), '\nconst = broken\n')
      await expect(ensureConsole(root)).rejects.toThrow(/main\.tsx/)
      expect(consoleIsCurrent(root)).toBe(false)
    },
    BUILD_TIMEOUT_MS,
  )
})
