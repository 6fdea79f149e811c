import type { Locator, Page } from 'playwright-core'
import { expect } from 'vitest'
import { type PicoUsd, parseUsd } from '../../src/core/kernel/money.ts'
import { NARROW, type WatchedPage } from './browser.ts'

/** An amount as a reader sees it (`$1,234.5000001`, `−$0.12`), to the last digit. Throws on anything else. */
export function amountOnScreen(text: string): PicoUsd {
  const match = /^([+−]?)\$([\d,]+\.\d+)$/.exec(text.trim())
  if (!match) throw new Error(`not an amount: ${text}`)
  const [, sign, digits = ''] = match
  return parseUsd(`${sign === '−' ? '-' : ''}${digits.replaceAll(',', '')}`)
}

/** The value of one of the stats of a page. */
export const stat = (page: Page, label: string): Locator =>
  page
    .locator('.stat')
    .filter({ has: page.locator('dt').getByText(label, { exact: true }) })
    .locator('dd')
    .first()

/** The exact amount of an element: the one that the pointer shows where the amount on screen is rounded. */
export async function exactAmount(shown: Locator): Promise<PicoUsd> {
  const money = shown.locator('xpath=descendant-or-self::data')
  return amountOnScreen((await money.getAttribute('title')) ?? (await money.innerText()))
}

/** Waits until a stat is exactly this amount. */
export async function expectAmount(shown: Locator, expected: () => Promise<bigint>): Promise<void> {
  const excess = async () => (await exactAmount(shown)) - (await expected())
  await expect.poll(excess, { message: 'on screen, beyond what is right' }).toBe(0n)
}

/**
 * Opens a page of the console: by its address where the browser shows nothing of this gateway yet, or that page
 * already, and else as a link does, which keeps what is loaded.
 */
export async function visit(page: Page, url: string): Promise<void> {
  const { origin, pathname, search, hash } = new URL(url)
  if (!page.url().startsWith(`${origin}/`) || page.url() === url) return void (await page.goto(url))
  await page.evaluate(`history.pushState(null, '', ${JSON.stringify(pathname + search + hash)})`)
}

export const heading = (page: Page, name: string): Locator =>
  page.getByRole('heading', { level: 1, name, exact: true })

/** Waits until nothing on a page stands in for what is still to come. */
export async function untilLoaded(page: Page): Promise<void> {
  await expect.poll(() => page.locator('.skeleton').count()).toBe(0)
}

/** Waits until no colour and no size is on its way to another. */
export async function untilStill(page: Page): Promise<void> {
  const running = () =>
    page.evaluate('document.getAnimations().filter((one) => one instanceof CSSTransition).length')
  await expect.poll(running).toBe(0)
}

/** Goes to a page of the account by its navigation, which is a menu on a phone. */
export async function goTo(page: Page, name: string, title = name): Promise<void> {
  const isNarrow = page.viewportSize()?.width === NARROW.width
  if (isNarrow) await page.getByRole('button', { name: 'Open the menu' }).click()
  await page.getByRole('navigation', { name: 'Account' }).getByRole('link', { name, exact: true }).click()
  await heading(page, title).waitFor()
}

/** Opens the menu at the foot of the navigation. */
export const openUserMenu = (page: Page): Promise<void> =>
  page.getByRole('button', { name: /^User menu: / }).click()

/** Signs out by the user menu. */
export async function signOut(page: Page): Promise<void> {
  await openUserMenu(page)
  await page.getByRole('button', { name: 'Sign out' }).click()
}

/** Signs up on the page for it, and arrives at the dashboard. */
export async function signUp({ page }: WatchedPage, origin: string, email: string, password: string) {
  await page.goto(`${origin}/sign-up`)
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Create account' }).click()
  await heading(page, 'Dashboard').waitFor()
}

/** Chooses an action in the menu of a row. */
export async function chooseAction(page: Page, about: string, name: string): Promise<void> {
  await page.getByRole('button', { name: `Actions for ${about}` }).click()
  await page.getByRole('menuitem', { name }).click()
}

/** Makes a key on the page for it, and returns its secret, shown once. */
export async function createKey({ page }: WatchedPage, name: string): Promise<string> {
  await goTo(page, 'API keys')
  await page.getByRole('button', { name: 'Create API key' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByRole('button', { name: 'Create key' }).click()
  const dialog = page.getByRole('dialog', { name: 'Save your API key' })
  const secret = await dialog.locator('.secret code').innerText()
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('row').filter({ hasText: name }).waitFor()
  return secret
}

/**
 * Nothing may be wider than the window, for a page is never scrolled sideways, and no name of a row wider than its place,
 * for it would lie below the figure beside it. Drawings need a moment to adapt.
 */
export async function expectToFit(page: Page): Promise<void> {
  const tooWide = () =>
    page.evaluate(`[document.documentElement, ...document.querySelectorAll('td.table-title')]
      .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
      .map(({ textContent }) => textContent.slice(0, 80))`)
  await expect
    .poll(tooWide, { message: `wider than the window or its place on ${page.url()}`, timeout: 10_000 })
    .toEqual([])
}
