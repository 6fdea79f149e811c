import { expect, test } from 'vitest'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { PASSWORD, signedUp } from '../helpers/console-client.ts'
import { testConsole } from './console-stack.ts'
import { heading, signOut } from './on-screen.ts'
import { createSampleAccount, lendSession } from './sample-account.ts'

const POLL = { timeout: 30_000, interval: 500 }
/** How many conversations of the playground the browser keeps. */
const KEPT_CONVERSATIONS = `new Promise((resolve, reject) => {
  const opening = indexedDB.open('shuntyard-playground')
  opening.onerror = () => reject(opening.error)
  opening.onsuccess = () => {
    const keys = opening.result.transaction('conversations').objectStore('conversations').getAllKeys()
    keys.onsuccess = () => {
      opening.result.close()
      resolve(keys.result.filter((key) => key.includes('/')).length)
    }
  }
})`
const ENDED = 'Your session has ended. Sign in to continue.'

const { stack, browser } = testConsole()

test('a page that is loaded after its session ended says so, once, and one without a session before does not', async () => {
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
  // What the page still asks for would be refused.
  await page.goto('about:blank')
  await stack.postgres.consoleSession.deleteMany({ where: { accountId } })
  await page.goto(`${stack.url}/keys`)
  await page.getByText(ENDED).waitFor()
  expect(new URL(page.url()).searchParams.get('next')).toBe('/keys')
  await page.goto(`${stack.url}/dashboard`)
  await heading(page, 'Sign in').waitFor()
  expect(await page.getByText(ENDED).count()).toBe(0)
  expect(opened.watch.problems).toEqual([])
})

test('what was typed when the session ended is there again for the same person, and passwords are not', async () => {
  const client = await signedUp(stack.url)
  const { account } = await client.json<SessionView>('/console/api/session')
  const opened = await browser.open(stack.url)
  const { page } = opened
  await lendSession(opened, client, stack.url)
  const endSession = () => stack.postgres.consoleSession.deleteMany({ where: { accountId: account.id } })
  /** Ends it just before the next such request arrives; a page that hears of the end sooner sends none. */
  const endSessionAtPost = (path: string) =>
    page.route(`**${path}`, async (route) => {
      if (route.request().method() === 'POST') await endSession()
      await route.fallback()
    })
  const signIn = async (email: string) => {
    await page.getByText(`${ENDED} What you typed is kept.`).waitFor()
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  }
  await page.goto(`${stack.url}/keys`)
  await page.getByRole('button', { name: 'Create API key' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Create API key' })
  await dialog.getByLabel('Name').fill('checkout-service')
  await dialog.getByLabel('Spending limit (USD)').fill('12.50')
  await endSessionAtPost('/console/api/keys')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await signIn(client.email)
  await page.unroute('**/console/api/keys')
  // The address says that the dialog was open.
  await dialog.getByLabel('Name').waitFor()
  expect(await dialog.getByLabel('Name').inputValue()).toBe('checkout-service')
  expect(await dialog.getByLabel('Spending limit (USD)').inputValue()).toBe('12.50')
  expect(await page.evaluate(() => sessionStorage.getItem('shuntyard-drafts'))).toBeNull()

  await dialog.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('button', { name: 'Done' }).click()
  await page.goto(`${stack.url}/playground`)
  const message = page.getByLabel('Message', { exact: true })
  await message.fill('Why do trains')
  await endSession()
  // The page reads its session again when its tab comes to the front.
  await expect
    .poll(async () => {
      await page.evaluate("window.dispatchEvent(new Event('visibilitychange'))")
      return page.getByText(ENDED).count()
    }, POLL)
    .toBe(1)
  await signIn(client.email)
  await message.waitFor()
  expect(await message.inputValue()).toBe('Why do trains')

  await page.goto(`${stack.url}/settings`)
  await page.getByLabel('Current password').fill(PASSWORD)
  await page.getByLabel('New password').fill('another long password')
  await endSessionAtPost('/console/api/password')
  await page.getByRole('button', { name: 'Change password' }).click()
  await page.getByText(ENDED, { exact: true }).waitFor()
  expect(await page.evaluate(() => sessionStorage.getItem('shuntyard-drafts'))).toBeNull()
})

test('conversations outlast a session that ended, for the same person, and end by signing out or with another person', async () => {
  const { client, accountId } = await createSampleAccount(stack)
  const other = await signedUp(stack.url)
  await other.json('/console/api/keys', { body: { name: 'playground' } })
  const opened = await browser.open(stack.url)
  const { page } = opened
  await lendSession(opened, client, stack.url)
  const kept = () => page.evaluate<number>(KEPT_CONVERSATIONS)
  const converse = async () => {
    await page.goto(`${stack.url}/playground`)
    await page.getByLabel('Message', { exact: true }).fill('Why do trains need shunting yards?')
    await page.getByLabel('Message', { exact: true }).press('Enter')
    await expect.poll(kept, POLL).toBe(1)
    await page.getByText('Output tokens').first().waitFor()
  }
  const signIn = async (as: string) => {
    await page.goto(`${stack.url}/sign-in`)
    await page.getByLabel('Email').fill(as)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await heading(page, 'Dashboard').waitFor()
  }
  const endSession = async () => {
    await page.goto('about:blank')
    await stack.postgres.consoleSession.deleteMany({ where: { accountId } })
  }
  await converse()
  await endSession()
  await signIn(client.email)
  expect(await kept()).toBe(1)

  await endSession()
  await signIn(other.email)
  await expect.poll(kept, POLL).toBe(0)

  await converse()
  await signOut(page)
  await expect.poll(kept, POLL).toBe(0)
})
