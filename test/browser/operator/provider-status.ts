import { expect, test } from 'vitest'
import { adminClient } from '../../helpers/admin-client.ts'
import { onBusyMachine } from '../../helpers/eventually.ts'
import { expectAccessibleAtBothWidths } from '../accessibility.ts'
import { heading, untilLoaded } from '../on-screen.ts'
import { browser, stack } from './operator-console.ts'

const HOUR_MS = 3_600_000

test('an operator publishes the status of providers, a visitor reads it, and it can be taken back', async () => {
  const start = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  const rows = ['gamma', 'beta'].flatMap((providerId) =>
    Array.from({ length: 24 * 89 }, (_, index) => ({
      providerId,
      hour: new Date(start - (index + 2) * HOUR_MS),
      // Of one hour too little is known.
      succeeded: index === 5 ? 0 : 1_000,
      failed: providerId === 'beta' && index % 40 === 0 ? 500 : 0,
    })),
  )
  await stack.postgres.providerHour.createMany({ data: rows })
  const guest = await browser.open(stack.url)
  const admin = adminClient(stack, await stack.adminKey())
  const publish = (isPublic: boolean) =>
    admin.send('PATCH', '/settings', { provider_status_public: isPublic })
  await guest.page.goto(`${stack.url}/status/providers`)
  await guest.page.getByText('does not publish provider status').waitFor()
  expect((await publish(true)).status).toBe(200)
  await expect
    .poll(
      async () => {
        await guest.page.goto(`${stack.url}/status/providers`)
        await heading(guest.page, 'Provider status').waitFor()
        await untilLoaded(guest.page)
        return guest.page.getByRole('table').count()
      },
      { timeout: onBusyMachine(15_000) },
    )
    .toBeGreaterThan(0)
  const row = guest.page.getByRole('row').filter({ hasText: /beta/i }).first()
  await row.getByText(/^9\d(\.\d+)?%$/).waitFor()
  await expectAccessibleAtBothWidths(guest.page)
  // An interval without data is a low stub, not a bar that looks like an outage.
  await guest.page.getByRole('radio', { name: '24 hours' }).check()
  await row.locator('rect[height="7"]').filter({ hasText: 'no data' }).first().waitFor({ state: 'attached' })
  expect(await row.locator('rect[height="24"]').filter({ hasText: 'no data' }).count()).toBe(0)
  await guest.page.getByRole('radio', { name: '7 days' }).check()
  await row.getByRole('img', { name: /of 28 intervals below 99%/ }).waitFor()
  expect(guest.watch.problems).toEqual([])
  expect((await publish(false)).status).toBe(200)
  expect((await fetch(`${stack.url}/console/api/provider-status`)).status).toBe(404)
})
