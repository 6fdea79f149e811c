import { describe, expect, test } from 'vitest'
import { DOC_PAGES } from '../../../web/lib/docs/doc-pages.ts'
import { changeTheme, expectAccessible, expectNoViolation } from '../accessibility.ts'
import { WIDE } from '../browser.ts'
import { expectToFit, goTo, heading, untilLoaded, visit } from '../on-screen.ts'
import { account, guest, sample, stack } from './page-console.ts'

/** The smallest phone. */
const SMALLEST = { width: 320, height: 640 }

// The theme changes from page to page: all of them are drawn by the same elements.
test.each(DOC_PAGES)('/docs/$slug is accessible and fits from 320 pixels on', async ({ slug, title }) => {
  const { page, watch } = guest
  await visit(page, `${stack.url}/docs/${slug}`)
  await heading(page, title).waitFor()
  await untilLoaded(page)
  await page.setViewportSize(WIDE)
  await expectToFit(page)
  await changeTheme(page)
  await page.setViewportSize(SMALLEST)
  await expectToFit(page)
  await expectNoViolation(page)
  expect(watch.problems).toEqual([])
})

test('examples have the address of this gateway, and no key', async () => {
  const { page } = account
  await page.goto(`${stack.url}/docs/quick-start`)
  await page.getByText(`curl ${stack.url}/v1/chat/completions`).waitFor()
  await page.getByRole('tab', { name: 'JavaScript' }).click()
  await page.getByText(`baseURL: '${stack.url}/v1'`).first().waitFor()
  expect(await page.locator('main').innerText()).not.toContain('127.0.0.1:8080')
  expect(await account.watch.placesOf(sample.hidden.key)).toEqual([])
})

test('links lead from page to page and to headings', async () => {
  const { page, watch } = guest
  await page.goto(`${stack.url}/docs/errors`)
  await page.getByRole('link', { name: 'streaming', exact: true }).click()
  await heading(page, 'Streaming').waitFor()
  await expect.poll(() => page.url()).toBe(`${stack.url}/docs/streaming#streams-that-break`)
  const target = page.getByRole('heading', { name: 'Streams that break' })
  const isInView = async () => {
    const top = (await target.boundingBox())?.y ?? -1
    return top >= 0 && top < WIDE.height
  }
  await expect.poll(isInView).toBe(true)
  await page.goto(`${stack.url}/docs/no-such-page`)
  await heading(page, 'Page not found').waitFor()
  expect(watch.problems).toEqual([])
})

describe('the search', () => {
  test('is opened by Ctrl+K and used with the keyboard alone', async () => {
    const { page, watch } = guest
    await page.setViewportSize(WIDE)
    await page.goto(`${stack.url}/models`)
    await heading(page, 'Models and prices').waitFor()
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or act' }).waitFor()
    await page.keyboard.type('rate limits')
    await page.getByRole('option', { name: /^Rate limits/, selected: true }).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Enter')
    await heading(page, 'Errors').waitFor()
    expect(page.url()).toBe(`${stack.url}/docs/errors#rate-limits`)
    expect(watch.problems).toEqual([])
  })

  test('finds pages of the account and models, and gives the focus back', async () => {
    const { page, watch } = account
    await page.setViewportSize(SMALLEST)
    await page.goto(`${stack.url}/dashboard`)
    const button = page.getByRole('button', { name: 'Search', exact: true })
    await button.click()
    const field = page.getByRole('combobox', { name: 'Search or act' })
    await field.fill('webh')
    await page.getByRole('group', { name: 'Pages' }).getByText('Webhooks').waitFor()
    await field.fill('acme/swift')
    await page.getByRole('option', { name: /^Acme Swift/ }).waitFor()
    await expectToFit(page)
    await field.press('Escape')
    await expect.poll(() => page.evaluate('document.activeElement?.textContent')).toBe('Search')
    await button.click()
    await field.fill('swift')
    await page.getByRole('option', { name: /^Acme Swift/ }).click()
    await heading(page, 'Acme Swift').waitFor()
    await page.setViewportSize(WIDE)
    expect(watch.problems).toEqual([])
  })
})

describe('what is done from the search', () => {
  const search = async (typed: string) => {
    await account.page.keyboard.press('Control+k')
    await account.page.getByRole('combobox', { name: 'Search or act' }).fill(typed)
  }
  const option = (name: RegExp) => account.page.getByRole('option', { name })

  test('a key is found by its name and a call by its id, and a dialog opens at once', async () => {
    const { page, watch } = account
    await page.goto(`${stack.url}/dashboard`)
    await heading(page, 'Dashboard').waitFor()
    await search(sample.callId)
    await option(/^chatcmpl_/).click()
    await heading(page, 'Call').waitFor()
    expect(page.url()).toBe(`${stack.url}/calls/${sample.callId}`)
    await search('NIGHT SERV')
    await page.getByRole('group', { name: 'Keys' }).getByRole('option').first().click()
    await heading(page, 'night service').waitFor()
    await search('create key')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Create API key' }).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.url()).toBe(`${stack.url}/keys`)
    await search('dark')
    await option(/^Theme: dark/).click()
    await expect.poll(() => page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    await search('theme system')
    await option(/^Theme: system/).click()
    await expect.poll(() => page.evaluate('document.documentElement.dataset.theme')).toBeFalsy()
    expect(watch.problems).toEqual([])
  })

  test('letters lead to pages, a sheet lists them, and they can be switched off', async () => {
    const { page, watch } = account
    await page.keyboard.press('?')
    const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await sheet.getByText('Usage').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('u')
    await heading(page, 'Usage').waitFor()
    // Not while something is typed into a field.
    await page.getByLabel('Search', { exact: true }).pressSequentially('gd?')
    expect(await sheet.count()).toBe(0)
    await page.getByLabel('Search', { exact: true }).fill('')
    await search('shortcuts')
    await option(/^Keyboard shortcuts/).click()
    await sheet.getByRole('checkbox').uncheck()
    await page.keyboard.press('Escape')
    await sheet.waitFor({ state: 'detached' })
    await page.keyboard.press('g')
    await page.keyboard.press('d')
    await page.keyboard.press('?')
    expect(await sheet.count()).toBe(0)
    await heading(page, 'Usage').waitFor()
    expect(watch.problems).toEqual([])
  })
})

test('models, docs and status stay in the frame of the account', async () => {
  const { page, watch } = account
  const sidebar = page.getByRole('navigation', { name: 'Account' })
  await page.goto(`${stack.url}/dashboard`)
  await goTo(page, 'Models', 'Models and prices')
  await sidebar.waitFor()
  await goTo(page, 'Docs')
  await sidebar.waitFor()
  for (const [path, title] of [
    ['/models/compare?models=acme/swift', 'Compare models'],
    ['/docs/api', 'API reference'],
    ['/status', 'Provider status'],
  ] as const) {
    await page.goto(stack.url + path)
    await heading(page, title).waitFor()
    await sidebar.waitFor()
    expect(await page.getByRole('navigation', { name: 'Site' }).count()).toBe(0)
  }
  await guest.page.goto(`${stack.url}/status`)
  await guest.page.getByRole('navigation', { name: 'Site' }).waitFor()
  expect(watch.problems).toEqual([])
})
