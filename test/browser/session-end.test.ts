import { afterAll, beforeAll, expect, test } from 'vitest'
import type { TestStack } from '../helpers/stack.ts'
import { BROWSER_START_TIMEOUT_MS, type TestBrowser } from './browser.ts'
import { startConsoleStack } from './console-stack.ts'
import { heading } from './on-screen.ts'
import { createSampleAccount, lendSession } from './sample-account.ts'

const TEST_TIMEOUT_MS = 90_000
const ENDED = 'Your session has ended. Sign in to continue.'

let stack: TestStack
let browser: TestBrowser
let close = async (): Promise<void> => undefined

beforeAll(async () => {
  ;({ stack, browser, close } = await startConsoleStack())
}, BROWSER_START_TIMEOUT_MS)
afterAll(() => close())

test(
  'a page that is loaded after its session ended says so, once, and one without a session before does not',
  async () => {
    const { client, accountId } = await createSampleAccount(stack)
    const opened = await browser.open(stack.url)
    const { page } = opened
    await page.goto(`${stack.url}/dashboard`)
    await heading(page, 'Sign in').waitFor()
    expect(await page.getByText(ENDED).count()).toBe(0)
    await lendSession(opened, client, stack.url)
    await page.goto(`${stack.url}/dashboard`)
    await heading(page, 'Dashboard').waitFor()
    await page.getByText('Times: UTC').waitFor()
    await stack.postgres.consoleSession.deleteMany({ where: { accountId } })
    await page.goto(`${stack.url}/keys`)
    await page.getByText(ENDED).waitFor()
    expect(new URL(page.url()).searchParams.get('next')).toBe('/keys')
    await page.goto(`${stack.url}/dashboard`)
    await heading(page, 'Sign in').waitFor()
    expect(await page.getByText(ENDED).count()).toBe(0)
    expect(opened.watch.problems).toEqual([])
  },
  TEST_TIMEOUT_MS,
)
