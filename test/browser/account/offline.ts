import { expect, test } from 'vitest'
import type { KeyList } from '../../../src/core/api/keys.ts'
import { filled } from '../../helpers/resources.ts'
import { expectAccessible } from '../accessibility.ts'
import { goTo, heading } from '../on-screen.ts'
import { lendSession } from '../sample-account.ts'
import { browser, sample, stack } from './account-console.ts'

// Of its own, for whose problems nobody looks: what is offline fails.
const account = filled(async () => {
  const opened = await browser.open(stack.url)
  await lendSession(opened, sample.client, stack.url)
  return opened
})

test('a page that is not loaded yet says that one is offline, and opens once one is online', async () => {
  const { page, context } = account
  await page.goto(`${stack.url}/dashboard`)
  await heading(page, 'Dashboard').waitFor()
  await context.setOffline(true)
  await page.getByRole('navigation', { name: 'Account' }).getByRole('link', { name: 'Webhooks' }).click()
  await heading(page, 'You are offline').waitFor()
  await page.getByRole('navigation', { name: 'Account' }).waitFor()
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByText('You are offline. Check your connection and try again.').waitFor()
  await context.setOffline(false)
  await heading(page, 'Webhooks').waitFor()
})

test('a form that is sent offline says so at once, and creates nothing later', async () => {
  const { page, context } = account
  await page.goto(`${stack.url}/dashboard`)
  await goTo(page, 'API keys')
  await page.getByRole('button', { name: 'Create API key' }).first().click()
  await page.getByLabel('Name', { exact: true }).fill('made offline')
  await context.setOffline(true)
  await page.getByRole('button', { name: 'Create key' }).click()
  await page.getByRole('alert').getByText('You are offline.').waitFor()
  await context.setOffline(false)
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.reload()
  await heading(page, 'API keys').waitFor()
  const { data } = await sample.client.json<KeyList>('/console/api/keys')
  expect(data.map(({ name }) => name)).not.toContain('made offline')
})

test('docs that are not loaded yet say so in their place, and can be asked for again', async () => {
  const { page, context } = account
  await page.goto(`${stack.url}/docs/quick-start`)
  await page.getByRole('heading', { name: 'Make a call' }).waitFor()
  await context.setOffline(true)
  await page.getByRole('navigation', { name: 'Docs' }).getByRole('link', { name: 'Errors' }).click()
  await page.getByRole('alert').getByText('You are offline.').waitFor()
  await context.setOffline(false)
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { name: 'Rate limits' }).waitFor()
})
