import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import type { CreatedOperatorKey } from '../../../src/core/api/keys.ts'
import { type AdminClient, adminClient } from '../../helpers/admin-client.ts'
import { ask } from '../../helpers/chat-client.ts'
import { expectAccessible, expectAccessibleAtBothWidths } from '../accessibility.ts'
import type { WatchedPage } from '../browser.ts'
import { chooseAction, exactAmount, heading, untilLoaded } from '../on-screen.ts'
import { lendOperatorSession } from '../sample-account.ts'
import { browser, stack } from './operator-console.ts'

let operator: WatchedPage
let admin: AdminClient
let page: Page
let accountId: string
/** Opens the account to who has it. */
let link: string

beforeAll(async () => {
  operator = await browser.open(stack.url)
  page = operator.page
  const adminKey = await stack.adminKey()
  admin = adminClient(stack, adminKey)
  await lendOperatorSession(operator, adminKey, stack.url)
})

const panel = (title: string) =>
  page.locator('.panel').filter({ has: page.getByRole('heading', { name: title, exact: true }) })
const openTab = (tab: 'money' | 'access') => page.goto(`${stack.url}/admin/accounts/${accountId}?tab=${tab}`)
const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })

test('an operator opens an account with a credit, and gets its link once', async () => {
  await page.goto(`${stack.url}/admin/accounts`)
  await page.getByRole('button', { name: 'Create account' }).click()
  const form = dialog('Create account')
  await form.getByLabel('Email address').fill('ann')
  await form.getByRole('button', { name: 'Create account' }).click()
  await form.getByText('Enter a valid email address').waitFor()
  await expectAccessible(page)
  await form.getByLabel('Email address').fill('ann@example.test')
  await form.getByLabel('Starting credit (USD)').fill('7.50')
  await form.getByLabel('Reason for the credit').fill('pilot project')
  await form.getByRole('button', { name: 'Create account' }).click()
  link = await dialog('Pass on this link').locator('.secret code').innerText()
  expect(link).toMatch(new RegExp(`^${stack.url}/reset#`))
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Done' }).click()
  // Anywhere in its row, which is the link.
  await page
    .getByRole('row')
    .filter({ hasText: 'ann@example.test' })
    .getByRole('cell', { name: 'never' })
    .click({ position: { x: 2, y: 2 }, force: true })
  await heading(page, 'ann@example.test').waitFor()
  accountId = page.url().split('/').at(-1)!
})

test('the ledger of the account says who posted what and why, and comes to the balance', async () => {
  const { secret: key } = await issuedKey()
  expect((await ask({ url: stack.url, key }, { model: 'acme/swift' })).status).toBe(200)
  await stack.settled(accountId)
  await openTab('money')
  const ledger = panel('Ledger')
  const table = ledger.getByRole('table', { name: 'Transactions of the account' })
  const rows = table.getByRole('row').filter({ has: page.getByRole('cell') })
  await expect.poll(() => rows.count()).toBe(2)
  await rows.nth(1).getByText('pilot project').waitFor()
  await rows
    .nth(1)
    .getByText(/by Test admin/)
    .waitFor()
  const { balancePico } = await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })
  expect(await exactAmount(rows.nth(0).getByRole('cell').last())).toBe(balancePico)
  await expectAccessibleAtBothWidths(page)
  await ledger.getByLabel('Calls', { exact: true }).selectOption('each')
  await rows
    .first()
    .getByRole('link', { name: /^chatcmpl_/ })
    .waitFor()
  await ledger.getByLabel('Kind').selectOption('topup')
  await ledger.getByText('No transactions of this kind.').waitFor()
})

/** Issues a key, as programs of operators do. */
const issuedKey = () => admin.post<CreatedOperatorKey>(`/accounts/${accountId}/keys`, { name: 'issued' })

test('a key is paused and revoked from the menu of its row', async () => {
  await openTab('access')
  const row = panel('Keys').getByRole('row').filter({ hasText: 'issued' })
  await chooseAction(page, 'the key issued', 'Pause')
  await row.getByText('paused', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Actions for the key issued' }).click()
  await page.getByRole('menuitem', { name: 'Resume' }).waitFor()
  await expectAccessible(page)
  await page.keyboard.press('End')
  await page.keyboard.press('Enter')
  await expectAccessible(page)
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke key' }).click()
  await row.getByText('revoked', { exact: true }).waitFor()
})

test('who has the link takes the account over', async () => {
  const beside = await browser.open(stack.url)
  await beside.page.goto(link)
  await beside.page.getByLabel('New password').fill('switches and signals')
  await beside.page.getByRole('button', { name: 'Change password' }).click()
  await beside.page.getByText('The password is changed').waitFor()
  await beside.page.close()
})

test('the dialog announces that a price takes a model offline, and the new price is in the history at once', async () => {
  await page.goto(`${stack.url}/admin/models/acme/swift`)
  const price = panel('Price')
  await price.getByLabel('Input (USD per million tokens)').fill('0')
  await price.getByLabel('Output (USD per million tokens)').fill('0')
  await price.getByRole('button', { name: 'Change price' }).click()
  const warning = page.getByRole('alertdialog', { name: 'Change the price?' })
  await warning.getByText('acme/swift will return 503: its only offer costs more than its price').waitFor()
  await warning.getByText('input and output will cost nothing').waitFor()
  expect(await warning.getByRole('button', { name: 'Change price' }).getAttribute('class')).toContain(
    'danger',
  )
  await expectAccessible(page)
  await warning.getByRole('button', { name: 'Cancel' }).click()
  await price.getByLabel('Input (USD per million tokens)').fill('0.16')
  await price.getByLabel('Output (USD per million tokens)').fill('1.6')
  await price.getByRole('button', { name: 'Change price' }).click()
  const change = page.getByRole('alertdialog').getByRole('button', { name: 'Change price' })
  await page.getByRole('alertdialog').getByText('Changes: 1', { exact: true }).waitFor()
  expect(await change.getAttribute('class')).not.toContain('danger')
  await change.click()
  await panel('Price history').getByText('0.16 / 1.60').waitFor()
})

test('a platform key is stored, shown by its end only, and removed', async () => {
  await page.goto(`${stack.url}/admin/providers/alpha`)
  const key = panel('Key')
  await key.getByText('from the environment').waitFor()
  // The history above it may be drawn between the press and the release of a click, which then hits nothing.
  await untilLoaded(page)
  await key.getByRole('button', { name: 'Add key' }).click()
  const form = dialog(/^Add the key for/)
  await form.getByLabel('Key', { exact: true }).fill('sk-stored-by-the-operator-0042')
  await expectAccessible(page)
  await form.getByRole('button', { name: 'Save key' }).click()
  await key.getByText('…0042').waitFor()
  await key.getByText('the stored key').waitFor()
  expect(await page.content()).not.toContain('sk-stored-by')
  await expectAccessibleAtBothWidths(page)
  await key.getByRole('button', { name: 'Remove key' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Remove key' }).click()
  await key.getByText('from the environment').waitFor()
  expect(operator.watch.problems).toEqual([])
})

test('a provider is taken out of use, found among the disabled ones, and put back', async () => {
  await page.goto(`${stack.url}/admin/providers/alpha`)
  await page.getByRole('button', { name: 'Disable provider' }).click()
  const disabling = page.getByRole('alertdialog', { name: /^Disable/ })
  await disabling.getByText(/receives no new calls within a second/).waitFor()
  await expectAccessible(page)
  await disabling.getByRole('button', { name: 'Disable provider' }).click()
  await page.getByText('it receives no calls').waitFor()
  const { key } = await stack.account('1.00')
  const status = async () => (await ask({ url: stack.url, key }, { model: 'acme/swift' })).status
  await expect.poll(status).toBe(503)
  await page.goto(`${stack.url}/admin/providers`)
  await page.getByText('Disabled by the current overrides').getByRole('link', { name: 'alpha' }).click()
  await page.getByRole('button', { name: 'Enable provider' }).click()
  await page
    .getByRole('alertdialog', { name: /^Enable/ })
    .getByRole('button', { name: 'Enable provider' })
    .click()
  await page.getByRole('button', { name: 'Disable provider' }).waitFor()
  await expect.poll(status).toBe(200)
  expect(operator.watch.problems).toEqual([])
})

test('an operator refunds a part of a top-up, and the page shows what is returned', async () => {
  const words = ['--account', accountId, '--amount', '25', '--rail', 'development']
  expect((await stack.command('admin', 'topup', 'create', ...words)).code).toBe(0)
  await page.goto(`${stack.url}/admin/accounts/${accountId}?tab=money`)
  const topUps = page.getByRole('table', { name: 'Top-ups, newest first' })
  await topUps.getByRole('button', { name: /^Refund/ }).click()
  const form = dialog('Refund this top-up?')
  await form.getByLabel('Amount (USD)').fill('25.01')
  await form.getByRole('button', { name: 'Refund' }).click()
  await form.getByText('Enter an amount up to 25.00').waitFor()
  await form.getByText('Enter a reason for the audit log').waitFor()
  await expectAccessible(page)
  await form.getByLabel('Amount (USD)').fill('10')
  await form.getByLabel('Reason').fill('asked for it back')
  await form.getByRole('button', { name: 'Refund' }).click()
  await page.getByText('of this top-up is returned now').waitFor()
  await topUps.getByText('Partly refunded').waitFor()
  await expectAccessible(page)
})
