import { globSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  cacheFolders,
  type DebianPackage,
  firstError,
  unpackDebianPackage,
} from '../../tools/launcher/services/debian-package.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const PACKAGE: DebianPackage = {
  name: 'libfaketime',
  description: 'a library that changes the clock of a process, for the tests',
  package: 'libfaketime',
  always: [],
  usual: [],
}

/**
 * The environment of a process whose clock is ahead by some seconds: Debian's library, unpacked into a cache folder. Throws
 * when it cannot be fetched.
 */
export async function clockAhead(seconds: number): Promise<Record<string, string>> {
  return {
    // With the allocator of libc: that of Redis reads the clock before the library is ready.
    LD_PRELOAD: `${await findLibrary()}:libc.so.6`,
    FAKETIME: `${seconds < 0 ? '' : '+'}${seconds}s`,
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
  }
}

async function findLibrary(): Promise<string> {
  const log = (line: string) => void process.stderr.write(`  ${line}\n`)
  const { root } = await unpackDebianPackage(
    PACKAGE,
    cacheFolders(join(ROOT, '.data'), process.env),
    log,
  ).catch((error: unknown) => {
    throw new Error(`libfaketime could not be fetched (${firstError(error)}): the tests of clocks need it`, {
      cause: error,
    })
  })
  const [library] = globSync('usr/lib/*/faketime/libfaketimeMT.so.1', { cwd: root })
  if (library === undefined) throw new Error(`the package in ${root} has no libfaketimeMT.so.1`)
  return join(root, library)
}
