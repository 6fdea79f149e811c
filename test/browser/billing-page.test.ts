import { expect, test } from 'vitest'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { signedUp } from '../helpers/console-client.ts'
import { expectAccessibleAtBothWidths } from './accessibility.ts'
import { NARROW, type TestBrowser, WIDE } from './browser.ts'
import { testConsole } from './console-stack.ts'
import { exactAmount, expectToFit, heading, stat } from './on-screen.ts'
import { lendSession } from './sample-account.ts'

const { stack, browser } = testConsole({
  environment: {
    PAYMENTS_DEVELOPMENT_RAIL: 'true',
    INVOICE_ISSUER_NAME: 'Acme GmbH',
    INVOICE_ISSUER_ADDRESS: 'Allee 1 | 10115 Berlin',
    INVOICE_ISSUER_TAX_ID: 'DE123',
    INVOICE_TAX_PERCENT: '19',
  },
})

const panel = (page: Awaited<ReturnType<TestBrowser['open']>>['page'], name: string) =>
  page.getByRole('region', { name, exact: true })

test('a card is saved, tops the balance up, and the invoice can be read and downloaded', async () => {
  const client = await signedUp(stack.url)
  const opened = await browser.open(stack.url, { viewport: WIDE })
  await lendSession(opened, client, stack.url)
  const { page, watch, context } = opened
  await page.goto(`${stack.url}/billing?tab=details`)

  const details = panel(page, 'Billing details')
  await details.getByLabel('Name or company').fill('Ann & Co.')
  await details.getByLabel('Address').fill('Street 5\n8001 Zürich')
  await details.getByLabel('Country code').fill('ch')
  await details.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Billing details saved.').first().waitFor()

  await expectAccessibleAtBothWidths(page)

  // The tabs begin where the title does, and none is out of sight on a phone.
  await page.setViewportSize(NARROW)
  const tabs = page.getByRole('navigation', { name: 'Parts of billing' }).getByRole('link')
  const leftOf = async (place: typeof tabs) => (await place.boundingBox())?.x
  expect(await leftOf(tabs.first())).toBe(await leftOf(page.getByRole('heading', { level: 1 })))
  const last = await tabs.last().boundingBox()
  expect(last && last.x + last.width).toBeLessThanOrEqual(NARROW.width)
  await page.setViewportSize(WIDE)

  const openTab = (name: string) =>
    page.getByRole('navigation', { name: 'Parts of billing' }).getByRole('link', { name }).click()
  await openTab('Overview')
  // An amount of 11 characters, such as $0.00001113, is as large as those beside it.
  await page.locator('.stats .figure').first().waitFor()
  const sizes = await page.evaluate<string[]>(`[1, 11].map((characters) => {
    const figure = document.querySelector('.stats .figure')
    figure.style.setProperty('--characters', characters)
    return getComputedStyle(figure).fontSize
  })`)
  expect(sizes[1]).toBe(sizes[0])
  const auto = panel(page, 'Automatic top-up')
  await auto.getByText('Test mode').waitFor()
  await auto.getByRole('button', { name: 'Save a card' }).click()
  await auto.getByText('Visa ending in 4242').waitFor()
  await auto.getByLabel('Maximum per month (USD)').fill('10')
  await auto.getByRole('button', { name: 'Save', exact: true }).click()
  await auto.getByText('Enter at least the amount of one top-up.').waitFor()
  await auto.getByLabel('Maximum per month (USD)').fill('25')
  await auto.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('Automatic top-up is on.').first().waitFor()

  await expect
    .poll(() => stack.postgres.payment.count({ where: { methodId: { not: null }, state: 'settled' } }), {
      timeout: 60_000,
    })
    .toBe(1)
  // The invoice is issued a moment after its payment.
  await expect.poll(() => stack.postgres.invoice.count()).toBe(1)
  await page.reload()
  await auto.getByText('Automatic top-up continues next month.').waitFor()
  await openTab('Top-ups & invoices')
  expect(new URL(page.url()).search).toBe('?tab=invoices')
  const invoices = panel(page, 'Invoices')
  await invoices.getByText('TEST-INV-000001').first().waitFor()
  await expectAccessibleAtBothWidths(page)
  for (const viewport of [WIDE, NARROW]) {
    await page.setViewportSize(viewport)
    await expectToFit(page)
  }
  await page.setViewportSize(WIDE)
  const download = page.waitForEvent('download')
  await invoices.getByRole('link', { name: 'PDF of TEST-INV-000001' }).click()
  expect((await download).suggestedFilename()).toBe('TEST-INV-000001.pdf')

  await invoices.getByRole('link', { name: 'Receipt of TEST-INV-000001' }).click()
  await heading(page, 'Receipt').waitFor()
  const receipt = panel(page, 'Receipt')
  for (const part of ['Acme GmbH', 'Tax ID: DE123', 'Ann & Co.', 'VAT 19 %, included', '$3.99', '(UTC)'])
    await receipt.getByText(part).first().waitFor()
  await expectAccessibleAtBothWidths(page)
  await expectToFit(page)
  // What is printed is the receipt alone.
  await page.emulateMedia({ media: 'print' })
  expect(await page.getByRole('navigation').filter({ visible: true }).count()).toBe(0)
  expect(await page.getByRole('button', { name: 'Print' }).isVisible()).toBe(false)
  expect(await receipt.isVisible()).toBe(true)
  expect(watch.problems).toEqual([])
  await context.close()
})

test('the statement of a month leads from its opening to its closing balance', async () => {
  const client = await signedUp(stack.url)
  await client.json('/console/api/top-ups', { body: { rail: 'development', amount_usd: '25.00' } })
  const opened = await browser.open(stack.url, { viewport: NARROW })
  await lendSession(opened, client, stack.url)
  const { page, watch, context } = opened
  await page.goto(`${stack.url}/billing`)
  await page.getByRole('link', { name: 'Monthly statements' }).click()
  const month = new Date().toISOString().slice(0, 7)
  await heading(page, `Statement of ${monthName(month)}`).waitFor()
  expect(await exactAmount(stat(page, 'Opening balance'))).toBe(0n)
  expect(await exactAmount(stat(page, 'Credited'))).toBe(25_500_000_000_000n)
  expect(await exactAmount(stat(page, 'Closing balance'))).toBe(25_500_000_000_000n)
  await expectAccessibleAtBothWidths(page)
  for (const viewport of [NARROW, WIDE]) {
    await page.setViewportSize(viewport)
    await expectToFit(page)
  }
  await page.getByRole('link', { name: 'Previous month' }).click()
  const before = new Date(`${month}-01`)
  before.setUTCMonth(before.getUTCMonth() - 1)
  await heading(page, `Statement of ${monthName(before.toISOString())}`).waitFor()
  await page.getByText('None in this month.').waitFor()
  expect(await exactAmount(stat(page, 'Closing balance'))).toBe(0n)
  expect(watch.problems).toEqual([])
  await context.close()
})

const monthName = (month: string) =>
  new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' }).format(
    new Date(month),
  )

test('a card is removed after a question, and a card that fails says why', async () => {
  const client = await signedUp(stack.url)
  const { account } = await client.json<SessionView>('/console/api/session')
  await client.json('/console/api/saved-card', { body: {} })
  const rule = { threshold_usd: '0.01', amount_usd: '25', monthly_maximum_usd: '100', enabled: true }
  await client.json('/console/api/auto-top-up', { method: 'PATCH', body: rule })
  await stack.postgres.autoTopUp.update({
    where: { accountId: account.id },
    data: { pausedAt: new Date(), pauseReason: 'authentication_required' },
  })
  const opened = await browser.open(stack.url, { viewport: NARROW })
  await lendSession(opened, client, stack.url)
  const { page, watch, context } = opened
  await page.goto(`${stack.url}/billing`)
  const auto = panel(page, 'Automatic top-up')
  await auto.getByText(/Paused since/).waitFor()
  await expectAccessibleAtBothWidths(page)
  await auto.getByRole('button', { name: 'Save and resume' }).click()
  await auto.getByText(/Paused since/).waitFor({ state: 'hidden' })
  await auto.getByRole('button', { name: 'Remove card' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove card' }).click()
  await auto.getByRole('button', { name: 'Save a card' }).waitFor()
  expect(watch.problems).toEqual([])
  await context.close()
})
