import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import type { CreatedAdminKey, NewOperatorBody, OperatorDetail } from '../../../src/core/api/operators.ts'
import { type AdminClient, adminClient } from '../../helpers/admin-client.ts'
import { testAccount } from '../../helpers/resources.ts'
import type { WatchedPage } from '../browser.ts'
import { expectGoodPage } from '../good-page.ts'
import { heading } from '../on-screen.ts'
import { lendOperatorSession } from '../sample-account.ts'
import { browser, stack } from './operator-console.ts'

const ANN = 'ann@company.test'

let admin: WatchedPage
let operators: AdminClient
let annId = ''
let annKey = ''

const owner = testAccount(stack, '10.00')
beforeAll(async () => {
  admin = await browser.open(stack.url)
  const adminKey = await stack.adminKey()
  operators = adminClient(stack, adminKey)
  await lendOperatorSession(admin, adminKey, stack.url)
})

const operatorRow = (page: Page) =>
  page.getByRole('table', { name: 'Operators, oldest first' }).getByRole('row').filter({ hasText: ANN })

test('an operator whom an admin added is listed, with their key by its end only', async () => {
  const { page } = admin
  await expectGoodPage(admin, `${stack.url}/admin/operators`, 'Operators')
  const body = { name: 'Ann Lee', email: ANN, role: 'viewer' } satisfies NewOperatorBody
  annId = (await operators.post<OperatorDetail>('/operators', body)).id
  const named = { name: 'laptop', expires_in_days: null }
  annKey = (await operators.post<CreatedAdminKey>(`/operators/${annId}/keys`, named)).secret
  await page.reload()
  await operatorRow(page).getByText('single sign-on, not yet used; 1 admin key').waitFor()
  await page.getByRole('table', { name: 'Admin keys of all operators' }).getByText('laptop').waitFor()
  expect(await admin.watch.placesOf(annKey)).toHaveLength(0)
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
  const suspend = page.getByRole('menuitem', { name: 'Suspend' })
  const openMenu = () => page.getByRole('button', { name: 'Actions for the account' }).click()
  await openMenu()
  await suspend.getByText('Takes the role admin or billing or support').waitFor()
  expect(await suspend.getAttribute('aria-disabled')).toBe('true')
  await expectGoodPage(ann, `${stack.url}/admin/operators`, 'Operators')
  expect(await operatorRow(page).getByRole('button', { name: 'Disable' }).isDisabled()).toBe(true)

  await operators.post(`/operators/${annId}/role`, { role: 'support' })
  await admin.page.reload()
  await operatorRow(admin.page).getByText('Support', { exact: true }).waitFor()
  await page.goto(`${stack.url}/admin/accounts/${owner.accountId}`)
  await page.getByText('Ann Lee (support)').first().waitFor()
  await openMenu()
  await suspend.waitFor()
  expect(await suspend.getAttribute('aria-disabled')).toBe(null)
  await page.keyboard.press('Escape')
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
  await operators.post('/catalog/edits', { content })
  await page.goto(`${stack.url}/admin/actions`)
  const row = page.getByRole('row').filter({ hasText: 'Catalog edited' }).first()
  await row.getByText('Test admin').waitFor()
  await row.getByText('Values').click()
  await row.getByText('changes.models[birch/open-leaf].rate.prompt: none → 0.150000').waitFor()
  const changed = page.getByRole('row').filter({ hasText: 'Operator role changed' })
  await changed.getByText('name: Ann Lee; role: viewer → support').waitFor()
  await expectGoodPage(admin, `${stack.url}/admin/actions`, 'Audit log')
})
