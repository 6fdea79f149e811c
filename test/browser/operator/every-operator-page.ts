import { beforeAll, expect, test } from 'vitest'
import type { GatewayHoursView } from '../../../src/core/api/billing.ts'
import type { OperatorCall } from '../../../src/core/api/calls.ts'
import { HOUR_MS } from '../../../src/core/kernel/time.ts'
import { expectAccessible, expectAccessibleAtBothWidths } from '../accessibility.ts'
import { NARROW, type WatchedPage, WIDE } from '../browser.ts'
import { PROVIDER_SECRET } from '../console-stack.ts'
import { expectGoodPage } from '../good-page.ts'
import { heading } from '../on-screen.ts'
import { createSampleAccount, lendOperatorSession, type SampleAccount } from '../sample-account.ts'
import { browser, stack } from './operator-console.ts'

let sample: SampleAccount
let adminKey: string
let operator: WatchedPage

beforeAll(async () => {
  sample = await createSampleAccount(stack)
  adminKey = await stack.adminKey()
  const hour = {
    hour: new Date(Math.floor(Date.now() / HOUR_MS) * HOUR_MS),
    succeeded: 8,
    failed: 2,
    firstTokenP50Ms: 150,
    firstTokenP95Ms: 400,
  }
  await stack.postgres.providerHour.create({ data: { ...hour, providerId: 'gamma' } })
  operator = await browser.open(stack.url)
})

test('the page where operators sign in', async () => {
  await expectGoodPage(operator, `${stack.url}/admin/sign-in`, 'Admin sign-in')
  await lendOperatorSession(operator, adminKey, stack.url)
  await operator.page.goto('about:blank')
})

test.each([
  ['/admin', 'Overview'],
  ['/admin/calls', 'Calls'],
  ['/admin/calls/CALL', 'Call'],
  ['/admin/providers', 'Providers'],
  ['/admin/providers/gamma', 'gamma'],
  ['/admin/calls?tab=requests', 'Calls'],
  ['/admin/accounts', 'Accounts'],
  ['/admin/accounts/ACCOUNT', 'EMAIL'],
  ['/admin/accounts/ACCOUNT?tab=money', 'EMAIL'],
  ['/admin/accounts/ACCOUNT?tab=access', 'EMAIL'],
  ['/admin/models', 'Models & margin'],
  ['/admin/models/acme/swift', 'acme/swift'],
  ['/admin/catalog', 'Price & model overrides'],
  ['/admin/router', 'Auto router'],
  ['/admin/ledger', 'Ledger & audit'],
  ['/admin/alarms', 'Alarms'],
  ['/admin/alarms?tab=destinations', 'Alarms'],
  ['/admin/alarms?tab=runbook#lost-calls', 'Alarms'],
  ['/admin/operators', 'Operators'],
  ['/admin/actions', 'Audit log'],
])('a page for operators is accessible and loads from this host alone: %s', (path, title) => {
  const address = path.replace('CALL', sample.callId).replace('ACCOUNT', sample.accountId)
  return expectGoodPage(operator, stack.url + address, title.replace('EMAIL', sample.client.email))
})

test('the menu of a phone, and a dialog that moves money, are accessible', async () => {
  const { page } = operator
  await page.goto(`${stack.url}/admin/accounts/${sample.accountId}`)
  await heading(page, sample.client.email).waitFor()
  await page.getByRole('button', { name: 'Credit' }).first().click()
  await page.getByRole('dialog').waitFor()
  await expectAccessibleAtBothWidths(page)
  await page.keyboard.press('Escape')
  await page.setViewportSize(NARROW)
  await page.getByRole('button', { name: 'Open the menu' }).click()
  await page.getByRole('dialog', { name: 'Menu' }).waitFor()
  await expectAccessible(page)
  await page.setViewportSize(WIDE)
})

test('the search finds a customer by an address or the id of a key, with one request for what is typed', async () => {
  const { page } = operator
  await page.goto(`${stack.url}/admin`)
  await heading(page, 'Overview').waitFor()
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  for (const typed of [sample.client.email, sample.keyId]) {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search or act' }).pressSequentially(typed)
    await page.getByRole('group', { name: 'Accounts' }).getByText(sample.client.email).waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await page.getByRole('combobox').waitFor({ state: 'detached' })
  }
  const searches = asked.filter((url) => url.includes('/admin/api/accounts?'))
  expect(new Set(searches).size).toBeLessThanOrEqual(4)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('create account')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Create account' }).waitFor()
})

test('tiles of the overview show how the last 24 hours went', async () => {
  const { page } = operator
  const answer = page.waitForResponse(/admin\/api\/hours/)
  await page.goto(`${stack.url}/admin`)
  const { total } = (await (await answer).json()) as GatewayHoursView
  expect(total.calls).toBeGreaterThan(0)
  await page.getByText(`${total.failed_calls} calls failed in 24 hours`).waitFor()
  const calls = page.locator('.stat').filter({ hasText: `${total.calls} in 24 hours` })
  await calls.locator('svg polyline').waitFor()
})

test('the list of providers and the page of a model show the uptime of providers', async () => {
  const { page } = operator
  await page.goto(`${stack.url}/admin/providers`)
  const row = page.getByRole('row').filter({ has: page.getByRole('link', { name: 'gamma' }) })
  await row.getByRole('img', { name: /of 24 intervals below 99%/ }).waitFor()
  await page.goto(`${stack.url}/admin/models/acme/swift`)
  await page
    .getByRole('img', { name: /of 24 intervals below 99%/ })
    .first()
    .waitFor()
})

test('the margin of each day is drawn by model, and read with the rest in one request', async () => {
  const { page } = operator
  const asked: string[] = []
  page.on('request', (request) => asked.push(request.url()))
  await page.goto(`${stack.url}/admin/models`)
  await page.getByRole('slider', { name: 'Margin by day and model.' }).press('End')
  await page.getByText(/: margin \$0\.\d+, loss \$/).waitFor()
  await page.getByText('Show as a table', { exact: true }).click()
  await page.getByRole('table', { name: 'Margin by day (UTC) and model' }).getByText('acme/swift').waitFor()
  expect(asked.filter((url) => url.includes('/admin/api/margin'))).toHaveLength(1)
})

test('calls are found by the address of their account', async () => {
  const headers = { authorization: `Bearer ${adminKey}` }
  const search = (account: string) => fetch(`${stack.url}/admin/api/calls?account=${account}`, { headers })
  const { data } = (await (await search(sample.client.email)).json()) as { data: OperatorCall[] }
  expect(data.map(({ id }) => id)).toContain(sample.callId)
  expect(new Set(data.map(({ account_id: id }) => id))).toEqual(new Set([sample.accountId]))
  const { page } = operator
  await page.goto(`${stack.url}/admin/calls?account=${sample.client.email}&sort=cost`)
  await page.getByRole('link', { name: sample.client.email }).first().waitFor()
  await page.getByRole('cell', { name: 'night service' }).first().waitFor()
  await page.goto(`${stack.url}/admin/calls/${sample.callId}`)
  await page.getByRole('link', { name: sample.client.email }).waitFor()
  await page.getByText('night service').waitFor()
  expect((await search('none@example.test')).status).toBe(404)
})

test('none of the answers that operators got holds a secret or a prompt', async () => {
  const { watch } = operator
  // The search finds what is there.
  expect(await watch.placesOf(sample.callId)).toContain(`GET /admin/api/calls/${sample.callId}/timeline`)
  expect(watch.problems).toEqual([])
  const ours = [adminKey, PROVIDER_SECRET, stack.environment.MASTER_KEY ?? '']
  for (const hidden of [...Object.values(sample.hidden), ...ours])
    expect(await watch.placesOf(hidden)).toEqual([])
})
