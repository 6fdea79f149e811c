import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import type { NewAlarmDestination } from '../../../src/core/api/alarm-destinations.ts'
import type { CatalogEditsApplied } from '../../../src/core/api/catalog.ts'
import type { PricingFeed } from '../../../src/core/catalog/pricing-feed-view.ts'
import { queuePrefix } from '../../../src/platform/redis/redis-keys.ts'
import { adminClient } from '../../helpers/admin-client.ts'
import { ask } from '../../helpers/chat-client.ts'
import { onBusyMachine } from '../../helpers/eventually.ts'
import { testAccount } from '../../helpers/resources.ts'
import { startWebhookReceiver } from '../../helpers/webhook-receiver.ts'
import { expectAccessible, expectAccessibleAtBothWidths } from '../accessibility.ts'
import type { WatchedPage } from '../browser.ts'
import { PROVIDER_SECRET } from '../console-stack.ts'
import { exactAmount, heading, stat, untilLoaded } from '../on-screen.ts'
import { browser, stack } from './operator-console.ts'

const PROMPT = 'Which lever moves the points at the east throat?'
const MESSAGES = [{ role: 'user', content: PROMPT }]

let operator: WatchedPage
let beside: WatchedPage
let adminKey: string

const owner = testAccount(stack, '10.00')
beforeAll(async () => {
  adminKey = await stack.adminKey()
  operator = await browser.open(stack.url)
})

const call = (model: string) => ask(owner, { model, messages: MESSAGES })

const panel = (page: Page, title: string) =>
  page.locator('.panel').filter({ has: page.getByRole('heading', { name: title, exact: true }) })

async function goTo(page: Page, name: string, title = name): Promise<void> {
  await page.getByRole('navigation', { name: 'Admin' }).getByRole('link', { name }).click()
  await heading(page, title).waitFor()
}

test('who asks for the queue board signs in with an admin key and is led back to it', async () => {
  const { page } = operator
  await page.goto(`${stack.url}/admin/queues`)
  await heading(page, 'Admin sign-in').waitFor()
  await page.getByLabel('Admin key').fill(adminKey)
  await page.getByRole('button', { name: 'Sign in with an admin key' }).click()
  await page.waitForURL(/\/admin\/queues(\/|$)/)
  await page.getByText('dispatch').first().waitFor()
})

test('a waiting call is in the queue board, sealed, and on the live board, which moves by itself', async () => {
  const { page } = operator
  await stack.dispatch[0]?.stop()
  const answer = call('acme/swift')
  await page.goto(`${stack.url}/admin/queues/queue/dispatch?status=prioritized`)
  await expect.poll(() => stack.redis.llen(`${queuePrefix(0)}:dispatch:wait`)).toBe(1)
  await page.goto(`${stack.url}/admin/queues/queue/dispatch?status=waiting`)
  await page.getByText('[sealed]').waitFor()
  beside = await browser.openBeside(operator, stack.url)
  const board = beside.page
  await board.goto(`${stack.url}/admin`)
  const waiting = stat(board, 'Queued calls')
  await expect.poll(() => waiting.innerText()).toBe('1')
  await stack.startDispatch()
  expect((await answer).status).toBe(200)
  await expect.poll(() => waiting.innerText()).toBe('0')
  await board.getByRole('table', { name: 'Processes' }).getByText('dispatch').first().waitFor()
  await board.close()
  await stack.settled(owner.accountId)
})

test("a call's timeline names every step, and its charge is the ledger's", async () => {
  const { page } = operator
  const { id } = await call('acme/scribe')
  await stack.settled(owner.accountId)
  await page.goto(`${stack.url}/admin/calls/${id}`)
  await stat(page, 'Charged').waitFor()
  const { amountPico } = await stack.postgres.ledgerEntry.findFirstOrThrow({
    where: { transactionId: String(id), ledgerAccount: `customer:${owner.accountId}` },
  })
  expect(await exactAmount(stat(page, 'Charged'))).toBe(-amountPico)
  await page.getByText('All events').click()
  const steps = (await page.locator('details table tbody').innerText()).toLowerCase()
  for (const step of ['admitted', 'claimed', 'alpha', 'first token', 'finished', 'settled'])
    expect(steps).toContain(step)
})

test('a breaker is seen to open and to close again', async () => {
  const { page } = operator
  await page.goto(`${stack.url}/admin`)
  const held = panel(page, 'Open circuits')
  const row = held.getByRole('row').filter({ hasText: 'zeta/' })
  await untilLoaded(page)
  expect(await row.count()).toBe(0)
  await call('birch/recovers')
  await call('birch/recovers')
  await row.getByText('Circuit open', { exact: true }).waitFor()
  await expect.poll(async () => (await call('birch/recovers')).status, { interval: 250 }).toBe(200)
  await row.waitFor({ state: 'detached' })
})

test('an earlier revision of the catalog is compared and applied again, and then in the prices', async () => {
  const { page } = operator
  const admin = adminClient(stack, await stack.adminKey())
  const apply = async (content: object) =>
    (await admin.post<CatalogEditsApplied>('/catalog/edits', { content })).edits.version
  const rate = { prompt: '0.15', completion: '1.50' }
  const earlier = `revision ${await apply({ changes: { models: [{ id: 'acme/swift', rate }] } })}`
  await apply({})
  await goTo(page, 'Overrides', 'Price & model overrides')
  await page.getByRole('table', { name: 'Revisions' }).getByText('Live').waitFor()
  await page.getByRole('button', { name: `Compare or revert to ${earlier}`, exact: true }).click()
  const dialog = page.getByRole('alertdialog', { name: `Revert to ${earlier}?` })
  await dialog.getByText(/acme\/swift: input \$\S+ → \$0\.15,/).waitFor()
  await dialog.getByRole('button', { name: `Revert to ${earlier}` }).click()
  const prompt = async () => {
    const feed = (await (await fetch(`${stack.url}/pricing.json`)).json()) as PricingFeed
    return feed.data.find(({ id }) => id === 'acme/swift')?.prompt
  }
  await expect.poll(prompt, { timeout: onBusyMachine(2_000), interval: 20 }).toMatch(/^0\.150*$/)
  await page.getByRole('table', { name: 'Revisions' }).getByText('Live').waitFor()
})

test('an audit that an operator asks for finds the ledger right', async () => {
  const { page } = operator
  await goTo(page, 'Ledger & audit')
  await page.getByText('Balanced: all sums add up to $0.00').waitFor()
  await page.getByRole('button', { name: 'Run audit' }).click()
  await page.getByText('Audit passed.').waitFor()
})

test('an alarm is open until it is acknowledged', async () => {
  const { page } = operator
  expect((await call('birch/refused')).status).toBeGreaterThanOrEqual(500)
  await page.goto(`${stack.url}/admin`)
  await expect.poll(async () => Number(await stat(page, 'Open alarms').innerText())).toBeGreaterThan(0)
  await goTo(page, 'Alarms')
  const row = page.getByRole('row').filter({ hasText: 'provider-refused' })
  await row.getByRole('button', { name: 'Acknowledge' }).click()
  await row.waitFor({ state: 'detached' })
  await page.getByRole('radio', { name: 'All' }).check()
  await row
    .getByText(/acknowledged/)
    .first()
    .waitFor()
  await row.getByText('critical').waitFor()
  await row.getByText(/at provider iota opened/).waitFor()
  await row.getByRole('button', { name: /Runbook/ }).click()
  const sheet = page.getByRole('dialog', { name: 'Runbook: provider-refused' })
  await sheet.getByText(/key/).first().waitFor()
  await expectAccessible(page)
  await page.keyboard.press('Escape')
  await sheet.waitFor({ state: 'detached' })
  await row.getByRole('link', { name: /at provider iota opened/ }).click()
  await heading(page, 'iota').waitFor()
})

test('a destination gets a test, and says whether it arrived', async () => {
  const receiver = await startWebhookReceiver()
  const { page } = operator
  const admin = adminClient(stack, adminKey)
  const body = {
    kind: 'slack',
    name: 'Team chat',
    target: receiver.url,
    minimum_severity: 'critical',
  } as const
  await admin.post('/alarm-destinations', body satisfies NewAlarmDestination)
  await page.goto(`${stack.url}/admin/alarms?tab=destinations`)
  const row = page.getByRole('row').filter({ hasText: 'Team chat' })
  await row.getByText('none yet').waitFor()
  await row.getByRole('button', { name: 'Send test' }).click()
  await receiver.count(1)
  await row.getByText(/^delivered /).waitFor()
  await expectAccessibleAtBothWidths(page)
  await receiver.close()
})

test('nothing an operator saw holds a prompt or a secret, and nothing went wrong on any page', async () => {
  // The search finds what is there.
  expect(await operator.watch.placesOf('[sealed]')).not.toEqual([])
  expect(await beside.watch.placesOf('"object":"live"')).toContain('event /admin/api/live')
  for (const { watch } of [operator, beside]) {
    expect(watch.problems).toEqual([])
    for (const hidden of [PROMPT, adminKey, owner.key, PROVIDER_SECRET, stack.environment.MASTER_KEY ?? ''])
      expect(await watch.placesOf(hidden)).toEqual([])
  }
})
