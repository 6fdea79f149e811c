import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import type { VisitorView } from '../../../src/core/api/gateway.ts'
import type { ModelDetails } from '../../../src/core/api/models.ts'
import { newCallId, newId } from '../../../src/core/kernel/ids.ts'
import { HOUR_MS } from '../../../src/core/kernel/time.ts'
import { expectAccessible, expectAccessibleAtBothWidths } from '../accessibility.ts'
import { NARROW, WIDE } from '../browser.ts'
import { PROVIDER_SECRET } from '../console-stack.ts'
import { firstLoadOf } from '../first-load.ts'
import { expectGoodPage } from '../good-page.ts'
import { heading, openUserMenu, visit } from '../on-screen.ts'
import { lendSession } from '../sample-account.ts'
import { account, browser, guest, sample, stack } from './page-console.ts'

test('what no page may do is noticed', async () => {
  const { page, watch, context } = await browser.open(stack.url)
  await page.goto(`${stack.url}/docs`)
  await heading(page, 'Docs').waitFor()
  expect(watch.problems).toEqual([])
  await page.evaluate(`(async () => {
    console.error('a complaint')
    setTimeout(() => { throw new Error('a mistake') })
    document.body.insertAdjacentHTML('beforeend', '<p style="color: red">styled</p>')
    await fetch('/console/api/keys').then((answer) => answer.text())
    await fetch('http://127.0.0.1:9/elsewhere').catch(() => undefined)
  })()`)
  for (const problem of [
    /^on the console: a complaint$/,
    /^an exception: a mistake$/,
    /^the policy forbids style-src-attr inline$/,
    /^the policy forbids connect-src http:\/\/127\.0\.0\.1:9/,
    /^GET \/console\/api\/keys 401$/,
  ]) {
    await expect.poll(() => watch.problems).toContainEqual(expect.stringMatching(problem))
  }
  expect(await watch.placesOf('"code":"not_signed_in"')).toEqual(['GET /console/api/keys'])
  await context.close()
})

describe('a browser that has nothing of the console', () => {
  test.each([
    { path: '/', bytesMax: 150_000, viewport: WIDE },
    { path: '/dashboard', bytesMax: 200_000, viewport: WIDE, isSignedIn: true },
    // Rows that are cards from the first.
    { path: '/models', bytesMax: 200_000, viewport: NARROW },
  ])('loads $path within its budget, and nothing on it moves', async (page) => {
    const { path, bytesMax, viewport, isSignedIn = false } = page
    const fresh = await browser.open(stack.url, { viewport })
    if (isSignedIn) await lendSession(fresh, sample.client, stack.url)
    await fresh.page.goto(stack.url + path)
    await fresh.page.locator('main h1').waitFor()
    const { bytes, shift } = await firstLoadOf(fresh.page)
    expect(bytes).toBeGreaterThan(100_000)
    expect(bytes).toBeLessThan(bytesMax)
    expect(shift).toBeLessThanOrEqual(0.05)
    await fresh.context.close()
  })
})

describe('a page for everyone is accessible and loads from this host alone:', () => {
  test.each([
    ['/', 'One API for every model.'],
    ['/models', 'Models and prices'],
    ['/models/acme/swift', 'Acme Swift'],
    ['/models/compare?models=acme/swift,birch/open-leaf', 'Compare models'],
    ['/docs', 'Docs'],
    ['/docs/api#chat-completions', 'API reference'],
    ['/status', 'Provider status'],
    ['/sign-in', 'Sign in'],
    ['/sign-up', 'Create an account'],
    ['/forgot-password', 'Reset your password'],
    ['/reset#token', 'Choose a new password'],
    ['/email#token', 'Confirm your new address'],
    ['/verify', 'Verify your email address'],
  ])('%s', (path, title) => expectGoodPage(guest, stack.url + path, title))
})

describe('a page of an account is accessible, loads from this host alone and receives no secret:', () => {
  test.each([
    ['/dashboard', 'Dashboard'],
    ['/playground', 'Playground'],
    ['/keys', 'API keys'],
    ['/models/birch/open-leaf', 'Open Leaf'],
    ['/usage', 'Usage'],
    ['/session?id=night-mail', 'Session'],
    ['/calls/CALL', 'Call'],
    ['/billing', 'Billing'],
    ['/billing/receipts/TOP_UP', 'Receipt'],
    ['/provider-keys', 'Provider keys'],
    ['/presets', 'Presets'],
    ['/budgets', 'Budgets'],
    ['/presets/support', 'support'],
    ['/webhooks', 'Webhooks'],
    ['/settings', 'Settings'],
  ])('%s', (path, title) => {
    const address = path.replace('CALL', sample.callId).replace('TOP_UP', sample.topUpId)
    return expectGoodPage(account, stack.url + address, title)
  })

  test('none of the answers they got holds a secret or a prompt', async () => {
    // The search finds what is there.
    expect(await account.watch.placesOf(sample.callId)).toContain(`GET /console/api/calls/${sample.callId}`)
    const hidden = [...Object.values(sample.hidden), PROVIDER_SECRET, stack.environment.MASTER_KEY ?? '']
    for (const secret of hidden) expect(await account.watch.placesOf(secret)).toEqual([])
  })
})

test('the page of a model has its quality with the source, and its days as a chart and a table', async () => {
  const { page, context, watch } = await browser.open(stack.url)
  const days = [
    { day: '2027-01-30', first_token_ms: 321, tokens_per_second: 54.4, uptime: 0.995 },
    { day: '2027-01-31', first_token_ms: null, tokens_per_second: null, uptime: null },
  ]
  const address = '/console/api/models/acme%2Fswift'
  const known = (await (await fetch(stack.url + address)).json()) as ModelDetails
  const body = JSON.stringify({ ...known, days } satisfies ModelDetails)
  await page.route(`**${address}`, (route) => route.fulfill({ contentType: 'application/json', body }))
  await page.goto(`${stack.url}/models/acme/swift`)
  const quality = page.getByRole('region', { name: 'Quality' })
  await quality.getByRole('row', { name: /Reasoning and data \d+% ± \d+ A benchmark/ }).waitFor()
  const panel = page.getByRole('region', { name: 'Performance' })
  await panel.locator('svg circle').first().waitFor()
  await panel.getByRole('radio', { name: 'Uptime' }).check()
  await panel.getByText('Share of successful attempts by day, UTC.').waitFor()
  await panel.locator('summary').click()
  await panel.getByRole('row', { name: '30 Jan 2027 321 ms 54 tokens/s 99.50%' }).waitFor()
  await panel.getByRole('row', { name: '31 Jan 2027 – – –' }).waitFor()
  await page.getByRole('region', { name: 'Price history' }).getByRole('cell', { name: '$1.234567' }).waitFor()
  await page.getByRole('region', { name: 'Use this model' }).getByRole('tab', { name: 'Python' }).click()
  await expectAccessible(page)
  expect(watch.problems).toEqual([])
  await context.close()
})

test('while answers are simulated every page says so', async () => {
  const { page } = account
  await page.route('**/console/api/visitor', async (route) => {
    const response = await route.fetch()
    const visitor = (await response.json()) as VisitorView
    await route.fulfill({ json: { ...visitor, gateway: { ...visitor.gateway, answers: 'simulated' } } })
  })
  await page.goto(stack.url)
  for (const path of ['/', '/models', '/playground', '/admin/sign-in']) {
    await visit(page, stack.url + path)
    await page
      .getByRole('complementary', { name: 'Demo mode' })
      .filter({ hasText: /answers are simulated.*With real provider keys the models answer/ })
      .waitFor()
  }
  await expectAccessibleAtBothWidths(page)
  // The foot of the navigation is in sight below the banner.
  await visit(page, `${stack.url}/webhooks`)
  const menu = await page.getByRole('button', { name: /^User menu: / }).boundingBox()
  expect((menu?.y ?? WIDE.height) + (menu?.height ?? 0)).toBeLessThanOrEqual(WIDE.height)
  await page.unroute('**/console/api/visitor')
  await page.goto('about:blank')
})

describe('a dialog is accessible:', () => {
  test.each([
    ['/keys', 'Create API key', 'Create API key'],
    ['/keys', 'Actions for the key night service', 'Revoke “night service”?', 'Revoke'],
    ['/provider-keys', 'Add provider key', 'Add provider key'],
    ['/presets', 'New preset', 'New preset'],
    ['/budgets', 'New budget', 'New budget'],
    ['/presets/support', 'Compare version 1 with the latest', 'Version 1 and 2'],
    ['/playground', 'Presets', 'Presets'],
    ['/webhooks', 'Add endpoint', 'Add endpoint'],
    ['/webhooks', 'Rotate secret', 'Rotate the signing secret?'],
    ['/webhooks', 'Add guardrail', 'Add guardrail'],
    ['/webhooks', 'Actions for the guardrail of old service', 'Test the guardrail', 'Test'],
    ['/webhooks', 'Actions for the guardrail of old service', 'Delete this guardrail?', 'Delete'],
  ])('on %s, behind “%s”', async (path, button, title, item = '') => {
    const { page, watch } = account
    await visit(page, stack.url + path)
    const opener = page.getByRole('button', { name: button }).first()
    await opener.click()
    if (item !== '') await page.getByRole('menuitem', { name: item }).click()
    const dialog = page.locator('[role=dialog]:focus-within, [role=alertdialog]:focus-within')
    await dialog.getByRole('heading', { name: title }).waitFor()
    await expectAccessibleAtBothWidths(page)
    await page.keyboard.press('Escape')
    await opener.and(page.locator(':focus')).waitFor()
    expect(watch.problems).toEqual([])
  })

  test('the menu of the user', async () => {
    const { page } = account
    await visit(page, `${stack.url}/dashboard`)
    await openUserMenu(page)
    const menu = page.getByRole('dialog', { name: 'User menu' })
    const theme = () => page.evaluate('document.documentElement.dataset.theme ?? null')
    await menu.getByLabel('Dark').check()
    expect(await theme()).toBe('dark')
    await menu.getByLabel('System').check()
    expect(await theme()).toBe(null)
    await menu.getByLabel('Time zone').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
  })

  test('the menu of a phone', async () => {
    const { page } = account
    await page.setViewportSize(NARROW)
    await visit(page, `${stack.url}/dashboard`)
    await page.getByRole('button', { name: 'Open the menu' }).click()
    await page.getByRole('dialog', { name: 'Menu' }).waitFor()
    await expectAccessible(page)
    await page.setViewportSize(WIDE)
  })
})

test('a long request log is searched, sorted, walked and exported; many keys are shown by fifties', async () => {
  const { page } = account
  const call = await stack.postgres.callRecord.findUniqueOrThrow({ where: { id: sample.callId } })
  const at = (index: number) => Date.now() - (index + 1) * HOUR_MS
  await stack.postgres.callRecord.createMany({
    data: Array.from({ length: 120 }, (_, index) => ({
      ...call,
      ...{ attempts: [], labels: { title: `run ${index}` }, id: newCallId(at(index)) },
      ...{ admittedAtMs: BigInt(at(index)), chargePico: BigInt(index) * 1_000_000n },
    })),
  })
  const rows = page.getByRole('table', { name: 'Calls' }).locator('tbody tr')
  const shows = async (first: RegExp | string, count: number) => {
    await rows.first().filter({ hasText: first }).waitFor()
    expect(await rows.count()).toBe(count)
  }
  const pages = page.getByRole('navigation', { name: 'Pages of requests' })
  await page.goto(`${stack.url}/usage`)
  await pages.getByRole('button', { name: 'Next' }).click()
  await shows('run 47', 50)
  await pages.getByRole('button', { name: 'Next' }).click()
  await shows('run 97', 23)
  expect(await pages.getByRole('button', { name: 'Next' }).isDisabled()).toBe(true)
  const address = page.url()
  await page.goto(address)
  await shows('run 97', 23)
  await pages.getByRole('button', { name: 'Previous' }).click()
  await shows('run 47', 50)
  await page.goBack()
  await shows('run 97', 23)

  await page.getByRole('button', { name: 'Cost' }).click()
  await shows('run 119', 50)
  await page.getByRole('button', { name: 'Cost' }).click()
  await page.getByRole('columnheader', { name: 'Cost' }).and(page.locator('[aria-sort=ascending]')).waitFor()
  await page.getByRole('button', { name: 'When' }).click()
  await page.getByLabel('Go to').fill(new Date(at(60) + HOUR_MS / 2).toISOString().slice(0, 16))
  await shows('run 60', 50)
  await page.getByRole('searchbox', { name: 'Search' }).fill('run 11')
  await shows('run 110', 10)
  expect(Object.fromEntries(new URL(page.url()).searchParams)).toMatchObject({ q: 'run 11' })
  await expectAccessibleAtBothWidths(page)

  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Export CSV' }).click()
  const exported = await download
  expect(exported.suggestedFilename()).toBe('calls.csv')
  // Of what is searched for, below the names of the columns.
  expect((await readFile(await exported.path(), 'utf8')).match(/run 11/g)).toHaveLength(11)

  await stack.postgres.apiKey.createMany({
    data: Array.from({ length: 60 }, (_, index) => ({
      ...{ kind: 'standard' as const, prefix: 'sk', suffix: `k${index}`, accountId: sample.accountId },
      ...{ id: newId('key'), name: `service ${index}`, hash: Buffer.from(`many ${index}`) },
    })),
  })
  await page.goto(`${stack.url}/keys`)
  await page.getByText('1–50 of 61').waitFor()
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('51–61 of 61').waitFor()
  await page.getByLabel('Search').fill('service 4')
  await page.getByRole('link', { name: 'service 42' }).waitFor()
  expect(await page.getByRole('table', { name: 'API keys' }).first().locator('tbody tr').count()).toBe(11)
  await page.getByLabel('State').selectOption('Revoked')
  await page.getByText('No key matches.').waitFor()
  await expectAccessible(page)
  expect(account.watch.problems).toEqual([])
})
