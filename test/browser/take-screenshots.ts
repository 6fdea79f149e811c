import { mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import type { CreatedKey } from '../../src/core/api/keys.ts'
import { queuePrefix } from '../../src/platform/redis/redis-keys.ts'
import { ask } from '../helpers/chat-client.ts'
import { NARROW, type Viewport, type WatchedPage } from './browser.ts'
import { type DemoGateway, startDemoGateway } from './demo-gateway.ts'
import { heading, untilLoaded, untilStill } from './on-screen.ts'
import { lendOperatorSession, lendSession } from './sample-account.ts'

const FOLDER = resolve(import.meta.dirname, '../../docs/screenshots')
const DESK = { width: 1440, height: 1000 }
/** Longer pages are cut off. */
const HEIGHT_MAX = 1_500
const PROMPT = 'Why do trains need switchyards?'

type Shot = [name: string, path: string]

const FOR_EVERYONE: Shot[] = [
  ['landing', '/'],
  ['models', '/models'],
  ['model', '/models/anthropic/claude-sonnet-5'],
  ['docs', '/docs'],
  ['sign-in', '/sign-in'],
  ['sign-up', '/sign-up'],
]
const OF_AN_ACCOUNT: Shot[] = [
  ['dashboard', '/dashboard'],
  ['keys', '/keys'],
  ['usage', '/usage'],
  ['call', '/calls/CALL'],
  ['billing', '/billing'],
  ['receipt', '/billing/receipts/TOP_UP'],
  ['provider-keys', '/provider-keys'],
  ['webhooks', '/webhooks'],
  ['settings', '/settings'],
]
const FOR_OPERATORS: Shot[] = [
  ['admin-overview', '/admin'],
  ['admin-calls', '/admin/calls'],
  ['admin-call', '/admin/calls/CALL'],
  ['admin-providers', '/admin/providers'],
  ['admin-provider', '/admin/providers/alpha'],
  ['admin-accounts', '/admin/accounts'],
  ['admin-account', '/admin/accounts/ACCOUNT'],
  ['admin-models', '/admin/models'],
  ['admin-model', '/admin/models/anthropic/claude-sonnet-5'],
  ['admin-catalog', '/admin/catalog'],
  ['admin-ledger', '/admin/ledger'],
  ['admin-alarms', '/admin/alarms'],
  ['admin-actions', '/admin/actions'],
]
const ON_A_PHONE = new Set(
  'landing models dashboard keys usage billing call admin-overview admin-call'.split(' '),
)
const IN_THE_DARK = new Set(['dashboard', 'admin-overview'])

test('every page is on file', async () => {
  const gateway = await startDemoGateway()
  try {
    await rm(FOLDER, { recursive: true, force: true })
    await mkdir(FOLDER, { recursive: true })
    const { browser, stack, client, adminKey } = gateway
    const guest = await browser.open(stack.url)
    for (const shot of FOR_EVERYONE) await shoot(guest, gateway, shot)
    await shoot(guest, gateway, ['admin-sign-in', '/admin/sign-in'])
    const account = await browser.open(stack.url)
    await lendSession(account, client, stack.url)
    for (const shot of OF_AN_ACCOUNT) await shoot(account, gateway, shot)
    await shootPlayground(account, gateway)
    const operator = await browser.open(stack.url)
    await lendOperatorSession(operator, adminKey, stack.url)
    await runAudit(operator, gateway)
    for (const shot of FOR_OPERATORS) await shoot(operator, gateway, shot)
    await shootQueues(operator, gateway)
    for (const { watch } of [guest, account, operator]) expect(watch.problems).toEqual([])
  } finally {
    await gateway.close()
  }
})

async function shoot({ page }: WatchedPage, gateway: DemoGateway, [name, path]: Shot): Promise<void> {
  const { stack, callId, topUpId, accountId } = gateway
  const address = path.replace('CALL', callId).replace('TOP_UP', topUpId).replace('ACCOUNT', accountId)
  await page.setViewportSize(DESK)
  await page.goto(stack.url + address)
  await page.locator('main h1').waitFor()
  await untilLoaded(page)
  await keep(page, name, DESK)
  if (IN_THE_DARK.has(name)) {
    await page.emulateMedia({ colorScheme: 'dark' })
    await keep(page, `${name}-dark`, DESK)
    await page.emulateMedia({ colorScheme: 'light' })
  }
  if (ON_A_PHONE.has(name)) await keep(page, `${name}-phone`, NARROW)
}

async function shootPlayground({ page }: WatchedPage, { stack }: DemoGateway): Promise<void> {
  await page.setViewportSize(DESK)
  await page.goto(`${stack.url}/playground?model=anthropic/claude-sonnet-5`)
  await heading(page, 'Playground').waitFor()
  await page.getByRole('button', { name: 'Compare' }).click()
  await page.getByLabel('Search models').fill('deepseek/deepseek-v4-pro')
  await page.keyboard.press('Enter')
  await page.getByLabel('Message', { exact: true }).fill(PROMPT)
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('link', { name: 'Details' }).nth(1).waitFor()
  await keep(page, 'playground', DESK)
  await keep(page, 'playground-phone', NARROW)
}

async function runAudit({ page }: WatchedPage, { stack }: DemoGateway): Promise<void> {
  await page.goto(`${stack.url}/admin/ledger`)
  await page.getByRole('button', { name: 'Run audit' }).click()
  await page.getByText('Audit passed.').waitFor({ timeout: 30_000 })
}

/** The queue board with a call that waits, because no worker is there. */
async function shootQueues({ page }: WatchedPage, { stack, client }: DemoGateway): Promise<void> {
  const { secret } = await client.json<CreatedKey>('/console/api/keys', { body: { name: 'waiting' } })
  await stack.dispatch[0]?.stop()
  const messages = [{ role: 'user', content: PROMPT }]
  const answer = ask({ url: stack.url, key: secret }, { model: 'gpt-5', messages })
  await expect.poll(() => stack.redis.llen(`${queuePrefix(0)}:dispatch:wait`)).toBe(1)
  await page.setViewportSize(DESK)
  await page.goto(`${stack.url}/admin/queues/queue/dispatch?status=waiting`)
  await page.getByText('[sealed]').waitFor()
  await keep(page, 'admin-queues', DESK)
  await stack.startDispatch()
  await answer
}

async function keep(page: WatchedPage['page'], name: string, viewport: Viewport): Promise<void> {
  await page.setViewportSize(viewport)
  await untilStill(page)
  // A window as high as the page: what sticks to the window then reaches to the end.
  const height = (await page.evaluate('document.documentElement.scrollHeight')) as number
  await page.setViewportSize({ width: viewport.width, height: Math.min(height, HEIGHT_MAX) })
  await untilStill(page)
  await page.screenshot({ path: join(FOLDER, `${name}.png`) })
}
