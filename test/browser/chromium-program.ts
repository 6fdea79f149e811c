import { existsSync } from 'node:fs'
import { delimiter, isAbsolute, join } from 'node:path'
import { runProcess, withProgress } from '../../tools/launcher/bootstrap/run-process.mjs'
import {
  type DebianPackage,
  firstError,
  runPackageTool,
  unpackDebianPackage,
} from '../../tools/launcher/services/debian-package.ts'

/** How to run a headless Chromium on this machine. */
export interface ChromiumProgram {
  /** Its full path. */
  command: string
  /** What it needs beside the tester's own environment. */
  environment: Record<string, string>
}

/** Without windows it takes a tenth less of the processor's time. */
const HEADLESS = 'chromium-headless-shell'
const NAMES = [HEADLESS, 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const VERSION = /(?:Chromium|Google Chrome) (\d+)/
const ASK_TIMEOUT_MS = 20_000
const PACKAGE: DebianPackage = {
  name: HEADLESS,
  description: 'Chromium for the browser tests',
  package: HEADLESS,
  always: ['chromium-common', 'fonts-liberation'],
  usual: ['chromium-common', 'fonts-liberation'],
}

/**
 * Finds a Chromium, in this order: the one CHROMIUM_PATH names, one on the PATH, Debian's package installed as root,
 * Debian's package unpacked into a cache folder by anyone else. Throws with what to do when there is none.
 */
export async function findChromium(
  cacheFolders: string[],
  environment: Record<string, string | undefined>,
): Promise<ChromiumProgram> {
  const named = environment.CHROMIUM_PATH
  if (named) {
    const program = { command: named, environment: {} }
    if (await runs(program)) return program
    throw new Error(`CHROMIUM_PATH names ${named}, which is no Chromium that runs. Correct it, or unset it.`)
  }
  const installed = await onPath(environment.PATH)
  if (installed) return installed
  const reasons = [`none of ${NAMES.join(', ')} is on the PATH and runs`]
  const fetched =
    process.getuid?.() === 0 ? await install(environment.PATH, reasons) : await unpack(cacheFolders, reasons)
  if (fetched) return fetched
  throw new Error(
    `No Chromium could be found or fetched, and the browser tests need one:\n${reasons
      .map((reason) => `  - ${reason}`)
      .join('\n')}\nInstall one (for example "apt-get install ${HEADLESS}"), or name one in CHROMIUM_PATH.`,
  )
}

async function onPath(path: string | undefined): Promise<ChromiumProgram | null> {
  const folders = (path ?? '').split(delimiter).filter(isAbsolute)
  for (const command of NAMES.flatMap((name) => folders.map((folder) => join(folder, name)))) {
    if (!existsSync(command)) continue
    const program = { command, environment: {} }
    if (await runs(program)) return program
  }
  return null
}

async function install(path: string | undefined, reasons: string[]): Promise<ChromiumProgram | null> {
  try {
    await withProgress('fetching package lists', () => runPackageTool('apt-get', ['update']))
    const args = ['install', '--yes', '--no-install-recommends', HEADLESS]
    await withProgress('installing Chromium for the browser tests', () => runPackageTool('apt-get', args))
  } catch (error) {
    reasons.push(`"apt-get install ${HEADLESS}" failed (${firstError(error)})`)
    return null
  }
  const program = await onPath(path)
  if (!program) reasons.push('the package that apt-get installed has no Chromium that runs')
  return program
}

async function unpack(cacheFolders: string[], reasons: string[]): Promise<ChromiumProgram | null> {
  const log = (line: string) => void process.stderr.write(`  ${line}\n`)
  try {
    const { root, libraryPath } = await unpackDebianPackage(PACKAGE, cacheFolders, log)
    const program: ChromiumProgram = {
      // Not the script in usr/bin, which works in the installed place only.
      command: join(root, 'usr/lib/chromium', HEADLESS),
      environment: {
        LD_LIBRARY_PATH: libraryPath,
        XDG_DATA_HOME: join(root, 'usr/share'),
        // It came along where the machine has none of its own.
        ...(existsSync(join(root, 'etc/fonts')) && { FONTCONFIG_PATH: join(root, 'etc/fonts') }),
      },
    }
    if (await runs(program)) return program
    reasons.push(`the unpacked ${program.command} does not run`)
  } catch (error) {
    reasons.push(`Debian's packages could not be unpacked without root (${firstError(error)})`)
  }
  return null
}

async function runs({ command, environment }: ChromiumProgram): Promise<boolean> {
  try {
    const env = { ...process.env, ...environment }
    return VERSION.test(await runProcess(command, ['--version'], { env, timeout: ASK_TIMEOUT_MS }))
  } catch {
    // Not there, not executable, or a stand-in that asks for another package manager: in each case it is none.
    return false
  }
}
