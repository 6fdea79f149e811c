import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { adminClient } from '../../helpers/admin-client.ts'
import { testAccount } from '../../helpers/resources.ts'
import { expectAccessibleAtBothWidths } from '../accessibility.ts'
import type { WatchedPage } from '../browser.ts'
import { expectGoodPage } from '../good-page.ts'
import { heading } from '../on-screen.ts'
import { lendOperatorSession } from '../sample-account.ts'
import { browser, stack } from './operator-console.ts'

const ANN = 'ann@company.test'

let admin: WatchedPage
let annKey = ''

const owner = testAccount(stack, '10.00')
beforeAll(async () => {
  admin = await browser.open(stack.url)
  await lendOperatorSession(admin, await stack.adminKey(), stack.url)
})

const operatorRow = (page: Page) =>
  page.getByRole('table', { name: 'Operators, oldest first' }).getByRole('row').filter({ hasText: ANN })

test('an admin adds an operator and creates their key, which is shown once', async () => {
  const { page } = admin
  await expectGoodPage(admin, `${stack.url}/admin/operators`, 'Operators')
  await page.getByRole('button', { name: 'Add operator' }).click()
  await expectAccessibleAtBothWidths(page)
  await page.getByLabel('Name').fill('Ann Lee')
  await page.getByLabel('Email address').fill(ANN)
  await page.getByLabel('Role', { exact: true }).selectOption('viewer')
  await page.getByRole('dialog').getByRole('button', { name: 'Add operator' }).click()
  await operatorRow(page).getByText('single sign-on, not yet used').waitFor()
  await operatorRow(page).getByRole('button', { name: 'Create key' }).click()
  await page.getByLabel('Name').fill('laptop')
  await page.getByRole('dialog').getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('dialog', { name: 'Admin key created' }).waitFor()
  annKey = await page.locator('.secret code').innerText()
  expect(annKey).toMatch(/^sk-sy-admin-/)
  await expectAccessibleAtBothWidths(page)
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('table', { name: 'Admin keys of all operators' }).getByText('laptop').waitFor()
  expect(await admin.watch.placesOf(annKey)).toHaveLength(1)
})

test('the page to sign in at offers single sign-on, and says why it did not work', async () => {
  const visitor = await browser.open(stack.url)
  const address = `${stack.url}/admin/sign-in?problem=unknown_operator`
  await expectGoodPage(visitor, address, 'Admin sign-in')
  await visitor.page.getByText('You are not an operator of this gateway.').waitFor()
  await visitor.page.getByRole('button', { name: 'Sign in with Yard ID' }).waitFor()
  await visitor.page.getByRole('button', { name: 'Sign in with an admin key' }).waitFor()
})

test('a role shows in the frame, and what it lacks is disabled, until it changes', async () => {
  const ann = await browser.open(stack.url)
  const { page } = ann
  await lendOperatorSession(ann, annKey, stack.url)
  await page.goto(`${stack.url}/admin/accounts/${owner.accountId}`)
  await page.getByText('Ann Lee (viewer)').first().waitFor()
  const suspend = page.getByRole('button', { name: 'Suspend' })
  await suspend.waitFor()
  expect(await suspend.isDisabled()).toBe(true)
  await expectGoodPage(ann, `${stack.url}/admin/operators`, 'Operators')
  expect(await page.getByRole('button', { name: 'Add operator' }).isDisabled()).toBe(true)

  await operatorRow(admin.page).getByRole('button', { name: 'Role' }).click()
  await admin.page.getByLabel('Role', { exact: true }).selectOption('support')
  await admin.page.getByRole('button', { name: 'Change role' }).click()
  await operatorRow(admin.page).getByText('Support', { exact: true }).waitFor()
  await page.goto(`${stack.url}/admin/accounts/${owner.accountId}`)
  await page.getByText('Ann Lee (support)').first().waitFor()
  await expect.poll(() => suspend.isDisabled()).toBe(false)
  const credit = page.getByRole('button', { name: 'Credit' }).first()
  expect(await credit.isDisabled()).toBe(true)
  expect(await credit.innerText()).toContain('Takes the role admin or billing')

  await operatorRow(admin.page).getByRole('button', { name: 'Disable' }).click()
  await admin.page.getByRole('button', { name: 'Disable operator' }).click()
  await operatorRow(admin.page).getByText('disabled').waitFor()
  ann.watch.expectRefusal(/401$/)
  await heading(page, 'Admin sign-in').or(page.getByText('Your session has ended').first()).first().waitFor()
})

test('the audit log names the person and what changed', async () => {
  const { page } = admin
  const rate = { prompt: '0.150000', completion: '1.500000' }
  const content = { changes: { models: [{ id: 'birch/open-leaf', rate }] } }
  await adminClient(stack, await stack.adminKey()).post('/catalog/edits', { content })
  await page.goto(`${stack.url}/admin/actions`)
  const row = page.getByRole('row').filter({ hasText: 'Changed the catalog' }).first()
  await row.getByText('Test admin').waitFor()
  await row.getByText('Values').click()
  await row.getByText('changes.models[birch/open-leaf].rate.prompt: none → 0.150000').waitFor()
  const changed = page.getByRole('row').filter({ hasText: 'Changed a role' })
  await changed.getByText('name: Ann Lee; role: viewer → support').waitFor()
  await expectGoodPage(admin, `${stack.url}/admin/actions`, 'Audit log')
})
