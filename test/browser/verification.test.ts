import { afterAll, beforeAll, expect, test } from 'vitest'
import { PASSWORD } from '../helpers/console-client.ts'
import { type MailCatcher, startMailCatcher } from '../helpers/mail-catcher.ts'
import type { TestStack } from '../helpers/stack.ts'
import { expectAccessibleAtBothWidths } from './accessibility.ts'
import { BROWSER_START_TIMEOUT_MS, type TestBrowser } from './browser.ts'
import { startConsoleStack } from './console-stack.ts'
import { expectToFit, heading, signUp, stat } from './on-screen.ts'

const EMAIL = 'verifier@example.test'

let catcher: MailCatcher
let stack: TestStack
let browser: TestBrowser
let close = async (): Promise<void> => undefined

beforeAll(async () => {
  catcher = await startMailCatcher()
  ;({ stack, browser, close } = await startConsoleStack({
    environment: {
      SMTP_URL: catcher.url,
      MAIL_FROM: 'noreply@gateway.example',
      PUBLIC_URL: 'http://gateway.example',
    },
  }))
}, BROWSER_START_TIMEOUT_MS)
afterAll(async () => {
  await close()
  await catcher.close()
})

test('a new user is asked to verify the address, has the message sent again, follows its link and has the credit', async () => {
  const opened = await browser.open(stack.url)
  const { page, watch } = opened
  await signUp(opened, stack.url, EMAIL, PASSWORD)
  const banner = page.getByText('Verify your address to get your free credit.')
  await banner.waitFor()
  expect(await stat(page, 'Available').innerText()).toBe('$0.00')
  await catcher.tokens(EMAIL)
  await page.getByRole('button', { name: 'Send it again' }).click()
  await page.getByText('Another message is on its way.').waitFor()
  const [, token = ''] = await catcher.tokens(EMAIL, 2)
  await expectAccessibleAtBothWidths(page)
  await expectToFit(page)

  await page.goto(`${stack.url}/verify#${token}`)
  await heading(page, 'Verify your address').waitFor()
  await expectAccessibleAtBothWidths(page)
  await page.getByRole('button', { name: 'Verify this address' }).click()
  await page.getByText('Your address is verified.').waitFor()
  await page.getByRole('link', { name: 'Go to the dashboard' }).click()
  await heading(page, 'Dashboard').waitFor()
  expect(await stat(page, 'Available').innerText()).toBe('$0.50')
  await banner.waitFor({ state: 'detached' })

  // The same link, again.
  watch.expectRefusal('POST /console/api/verify 400')
  await page.goto(`${stack.url}/verify#${token}`)
  await page.reload()
  await page.getByRole('button', { name: 'Verify this address' }).click()
  await page.getByText('This link was used before or has expired.').waitFor()
  expect(watch.problems).toEqual([])
})
