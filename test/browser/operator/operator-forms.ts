import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { ask } from '../../helpers/chat-client.ts'
import { expectAccessible, expectAccessibleAtBothWidths } from '../accessibility.ts'
import type { WatchedPage } from '../browser.ts'
import { exactAmount, heading, untilLoaded } from '../on-screen.ts'
import { lendOperatorSession } from '../sample-account.ts'
import { browser, stack } from './operator-console.ts'

let operator: WatchedPage
let page: Page
let accountId: string
/** Opens the account to who has it. */
let link: string

beforeAll(async () => {
  operator = await browser.open(stack.url)
  page = operator.page
  await lendOperatorSession(operator, await stack.adminKey(), stack.url)
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
  await openTab('access')
  const { key } = await issuedKey()
  expect((await ask({ url: stack.url, key }, { model: 'acme/swift' })).status).toBe(200)
  await stack.settled(accountId)
  await openTab('money')
  const ledger = panel('Ledger')
  await ledger.getByText('The sum of all transactions is the balance').waitFor()
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

/** Issues a key in the dialog. */
async function issuedKey(): Promise<{ key: string }> {
  await panel('Keys').getByRole('button', { name: 'Create key' }).click()
  const form = dialog('Create a key for this account')
  await form.getByLabel('Name').fill('from the operator')
  await form.getByRole('button', { name: 'Create key' }).click()
  const key = await dialog('Pass on this key').locator('.secret code').innerText()
  await page.getByRole('button', { name: 'Done' }).click()
  return { key }
}

test('keys are edited, paused and, several at once, revoked', async () => {
  await openTab('access')
  await issuedKey()
  const keys = panel('Keys')
  await keys.getByRole('button', { name: 'Edit the key' }).first().click()
  const form = dialog('Edit “from the operator”')
  await form.getByLabel('Name').fill('edited')
  await form.getByRole('button', { name: 'Save changes' }).click()
  const row = keys.getByRole('row').filter({ hasText: 'edited' })
  await row.getByRole('button', { name: 'Pause the key edited' }).click()
  await row.getByRole('button', { name: 'Resume the key edited' }).waitFor()
  await keys.getByRole('checkbox', { name: 'Select all' }).check()
  await keys.getByRole('button', { name: 'Revoke 2 keys' }).click()
  await expectAccessible(page)
  await dialog('Revoke 2 keys?').getByRole('button', { name: 'Revoke keys' }).click()
  await expect.poll(() => keys.getByText('revoked', { exact: true }).count()).toBe(2)
})

test('who has the link takes the account over, and then makes its keys', async () => {
  const beside = await browser.open(stack.url)
  await beside.page.goto(link)
  await beside.page.getByLabel('New password').fill('switches and signals')
  await beside.page.getByRole('button', { name: 'Change password' }).click()
  await beside.page.getByText('The password is changed').waitFor()
  await beside.page.close()
  await page.reload()
  await panel('Keys').getByText('revoked', { exact: true }).first().waitFor()
  expect(await panel('Keys').getByRole('button', { name: 'Create key' }).count()).toBe(0)
})

test('several accounts are suspended and resumed, with one reason', async () => {
  await stack.account('1.00')
  const count = await stack.postgres.account.count()
  await page.goto(`${stack.url}/admin/accounts`)
  await page.getByRole('checkbox').nth(count).waitFor()
  const suspendAll = async (verb: 'Suspend' | 'Resume') => {
    await page.getByRole('checkbox', { name: 'Select all' }).check()
    await page.getByRole('button', { name: `${verb} ${count} accounts` }).click()
    const form = dialog(`${verb} ${count} accounts?`)
    await form.getByLabel('Reason').fill('a drill')
    await form.getByRole('button', { name: `${verb} accounts` }).click()
    await form.waitFor({ state: 'detached' })
  }
  await suspendAll('Suspend')
  await expect.poll(() => stack.postgres.account.count({ where: { state: 'suspended' } })).toBe(count)
  await expect.poll(() => page.getByText('suspended', { exact: true }).count()).toBe(count)
  await suspendAll('Resume')
  await expect.poll(() => stack.postgres.account.count({ where: { state: 'suspended' } })).toBe(0)
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
  await page.getByRole('alertdialog').getByText('Changes', { exact: true }).waitFor()
  expect(await change.getAttribute('class')).not.toContain('danger')
  await change.click()
  await panel('Price history').getByText('0.16 / 1.60').waitFor()
})

test('a model is added by form, and can be called', async () => {
  await page.goto(`${stack.url}/admin/models`)
  await page.getByRole('button', { name: 'Add model' }).click()
  const form = dialog('Add a chat model')
  const values = {
    ...{ 'Model ID': 'acme/added', 'Context window (tokens)': '8000', Provider: 'alpha' },
    'Input list price (USD per million)': '1.00',
    'Output list price (USD per million)': '2.00',
    ...{ 'Model name at the provider': 'words-12', 'Input cost (USD per million)': '0.50' },
  }
  for (const [label, value] of Object.entries(values))
    await form.getByLabel(label, { exact: true }).fill(value)
  await form.getByRole('button', { name: 'Review changes' }).click()
  await form.getByText('Enter USD per million tokens').waitFor()
  await expectAccessible(page)
  await form.getByLabel('Output cost (USD per million)').fill('0.50')
  await form.getByRole('button', { name: 'Review changes' }).click()
  const review = page.getByRole('alertdialog', { name: 'Add this model?' })
  await review.getByText('acme/added can be called').waitFor()
  await review.getByRole('button', { name: 'Add model' }).click()
  await review.waitFor({ state: 'detached' })
  const { key } = await stack.account('1.00')
  await expect
    .poll(async () => (await ask({ url: stack.url, key }, { model: 'acme/added' })).status)
    .toBe(200)
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
