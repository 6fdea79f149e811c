import { expect, test } from 'vitest'
import type { CallDetail } from '../../src/core/api/calls.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import { WIDE } from './browser.ts'
import { testConsole } from './console-stack.ts'
import { expectGoodPage } from './good-page.ts'
import { heading } from './on-screen.ts'
import { createSampleAccount, lendSession } from './sample-account.ts'

const { stack, browser } = testConsole()

/** A moment as pages show it. */
const shownIn = (timeZone: string, at: Date) =>
  new Intl.DateTimeFormat('en-GB', {
    timeZone,
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
  }).format(at)

test('the time zone chosen on the settings page is that of every page, and one chosen for usage, too', async () => {
  const { client, callId } = await createSampleAccount(stack)
  const call = await client.json<CallDetail>(`/console/api/calls/${callId}`)
  const receivedAt = new Date(call.timings.admitted_at)
  const opened = await browser.open(stack.url)
  const { page, watch } = opened
  await lendSession(opened, client, stack.url)
  await page.goto(`${stack.url}/settings`)
  await heading(page, 'Settings').waitFor()
  await page.getByLabel('Time zone').selectOption('Other …')
  await page.getByLabel('Find', { exact: true }).fill('Pacific/Kiritimati')
  await page.getByText('Times: Pacific/Kiritimati (GMT+14)').waitFor()
  await expectGoodPage(opened, page.url(), 'Settings')
  // One narrow column, whose sections have addresses.
  expect((await page.getByRole('region', { name: 'Password' }).boundingBox())?.width).toBe(640)
  await page.getByRole('link', { name: 'Data', exact: true }).click()
  expect(new URL(page.url()).hash).toBe('#data')
  await expect.poll(async () => (await page.locator('#data').boundingBox())?.y).toBeLessThan(WIDE.height)
  // Nobody gets the weekly message who did not ask for it.
  expect(await page.getByLabel('Spend of each week').isChecked()).toBe(false)
  await page.getByLabel('Spend of each week').click()
  await page.getByText('Saved.').first().waitFor()
  expect((await client.json<SessionView>('/console/api/session')).person.mails.weekly_spend).toBe(true)

  await page.goto(`${stack.url}/calls/${callId}`)
  await page.getByText(shownIn('Pacific/Kiritimati', receivedAt)).first().waitFor()
  await page.getByRole('link', { name: 'night-mail' }).click()
  await heading(page, 'Session').waitFor()
  await page.goto(`${stack.url}/usage`)
  await page.getByText('Times in Pacific/Kiritimati (GMT+14)').waitFor()
  await page.getByTitle(shownIn('Pacific/Kiritimati', receivedAt)).first().waitFor()
  // All filters are one line of small controls.
  for (const toolbar of await page.locator('.toolbar').all()) {
    const boxes = await Promise.all(
      (await toolbar.locator('.field').filter({ visible: true }).all()).map((one) => one.boundingBox()),
    )
    expect(boxes.map((box) => box?.height)).toEqual(boxes.map(() => 32))
    expect(new Set(boxes.map((box) => box?.y)).size).toBeLessThanOrEqual(1)
  }

  // The chart of before stays, dimmed, until that of the other zone is there.
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  await page.route(/api\/usage\/series/, async (route) => {
    await released
    await route.continue()
  })
  await page.getByLabel('Time zone').selectOption('Other …')
  await page.getByLabel('Find', { exact: true }).fill('Pacific/Honolulu')
  await page.locator('figure[aria-busy="true"] svg').first().waitFor()
  release()
  await page.locator('figure[aria-busy="false"] svg').first().waitFor()
  await page.getByText('Times: Pacific/Honolulu (GMT-10)').waitFor()
  await page.getByTitle(shownIn('Pacific/Honolulu', receivedAt)).first().waitFor()
  await page.goto(`${stack.url}/billing/statements/${new Date().toISOString().slice(0, 7)}`)
  await page.getByText('Days and times are in UTC').waitFor()
  await page.getByText('Times: Pacific/Honolulu (GMT-10)').waitFor()
  expect(watch.problems).toEqual([])
})
