import { join, resolve } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { waitForLock } from '../../tools/launcher/bootstrap/process-lock.mjs'
import { ensureConsole } from '../../tools/launcher/build-console.ts'
import { cacheFolders } from '../../tools/launcher/services/debian-package.ts'
import { type ChromiumProgram, findChromium } from './chromium-program.ts'
import { CHROMIUM_SWITCHES, NOT_OPTIMISING } from './chromium-switches.ts'
import { type PageWatch, watchPage } from './page-watch.ts'

const ROOT = resolve(import.meta.dirname, '../..')
/** Once in a machine's life, Chromium is fetched first. */
export const BROWSER_START_TIMEOUT_MS = 400_000
const ACTION_TIMEOUT_MS = 120_000

export const WIDE = { width: 1440, height: 900 }
/** A phone. */
export const NARROW = { width: 375, height: 812 }

export type Viewport = typeof WIDE

export interface WatchedPage {
  page: Page
  context: BrowserContext
  watch: PageWatch
}

export interface TestBrowser {
  /** A page in a browser of its own: no cookie, no storage, no cache of another. */
  open(
    origin: string,
    options?: { viewport?: Viewport; colorScheme?: 'light' | 'dark' },
  ): Promise<WatchedPage>
  /** Another page of the same browser. */
  openBeside(other: WatchedPage, origin: string): Promise<WatchedPage>
  close(): Promise<void>
}

/**
 * Builds the console where its pages are stale, and starts a headless Chromium. Throws, with what to do, without one.
 * @param switches beside those that every run needs
 */
export async function startBrowser(switches: readonly string[] = [NOT_OPTIMISING]): Promise<TestBrowser> {
  const program = await oneAtATime(() =>
    findChromium(cacheFolders(join(ROOT, '.data'), process.env), process.env),
  )
  const [browser] = await Promise.all([launch(program, switches), ensureConsole(ROOT)])
  const watched = async (context: BrowserContext, origin: string): Promise<WatchedPage> => {
    const page = await context.newPage()
    return { page, context, watch: await watchPage(page, origin) }
  }
  return {
    async open(origin, { viewport = WIDE, colorScheme = 'light' } = {}) {
      const context = await browser.newContext({
        viewport,
        colorScheme,
        reducedMotion: 'reduce',
        locale: 'en-GB',
        timezoneId: 'UTC',
      })
      context.setDefaultTimeout(ACTION_TIMEOUT_MS)
      return watched(context, origin)
    },
    openBeside: ({ context }, origin) => watched(context, origin),
    close: () => browser.close(),
  }
}

function launch(program: ChromiumProgram, switches: readonly string[]): Promise<Browser> {
  return chromium.launch({
    executablePath: program.command,
    env: { ...process.env, ...program.environment },
    args: [...CHROMIUM_SWITCHES, ...switches],
  })
}

/** Two test files would install it at the same moment. */
async function oneAtATime<T>(work: () => Promise<T>): Promise<T> {
  const release = await waitForLock(join(ROOT, '.data', 'chromium.lock'), {
    timeoutMs: BROWSER_START_TIMEOUT_MS,
  })
  try {
    return await work()
  } finally {
    release()
  }
}
