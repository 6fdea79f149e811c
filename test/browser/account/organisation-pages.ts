import { expect, test } from 'vitest'
import type { CreatedKey } from '../../../src/core/api/keys.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { PASSWORD } from '../../helpers/console-client.ts'
import { actOn, member, organisationOf } from '../../helpers/organisation.ts'
import { expectAccessible } from '../accessibility.ts'
import { NARROW, WIDE } from '../browser.ts'
import { expectGoodPage } from '../good-page.ts'
import { chooseAction, expectToFit, heading } from '../on-screen.ts'
import { lendSession } from '../sample-account.ts'
import { browser, stack } from './account-console.ts'

async function openAs(client: Parameters<typeof lendSession>[1], viewport = WIDE) {
  const opened = await browser.open(stack.url, { viewport })
  await lendSession(opened, client, stack.url)
  return opened
}

test('an organisation is created, and chosen among the accounts', async () => {
  const owner = await member(stack.url)
  const { page, watch } = await openAs(owner)
  await page.goto(`${stack.url}/dashboard`)
  await page.getByRole('button', { name: /Switch account/ }).click()
  await expectAccessible(page)
  await page.getByRole('menuitem', { name: 'Create organisation' }).click()
  await page.getByLabel('Name').fill('Signal works')
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Create organisation' }).click()
  await page.getByRole('button', { name: /Account: Signal works.*Switch account/ }).waitFor()
  await page.getByRole('link', { name: 'Members' }).click()
  await page.getByRole('cell', { name: `${owner.email} you` }).waitFor()
  // A window that shows another account changes nothing of this one, and comes to show this one.
  const { page: other } = await openAs(owner)
  await other.goto(`${stack.url}/keys`)
  await page.getByRole('button', { name: /Switch account/ }).click()
  await page.getByRole('menuitem', { name: owner.email }).first().click()
  await page.getByRole('button', { name: `Account: ${owner.email}` }).waitFor()
  await other.getByRole('button', { name: `Account: ${owner.email}` }).waitFor()
  expect(await page.getByRole('link', { name: 'Members' }).count()).toBe(0)
  expect(watch.problems).toEqual([])
})

test('a personal account has no page of an organisation, by address or by Back', async () => {
  const { owner } = (await organisationOf(stack, ['owner'])).members
  const { page, watch } = await openAs(owner)
  await page.goto(`${stack.url}/organisation`)
  await page.getByRole('button', { name: 'Delete organisation' }).waitFor()
  await page.getByRole('button', { name: /Switch account/ }).click()
  await page.getByRole('menuitem', { name: owner.email }).first().click()
  await page.getByRole('button', { name: `Account: ${owner.email}` }).waitFor()
  await page.goBack()
  await heading(page, 'Settings').waitFor()
  for (const path of ['/organisation', '/members']) {
    await page.goto(stack.url + path)
    await page.waitForURL(`${stack.url}/settings`)
    await heading(page, 'Settings').waitFor()
    expect(await page.getByRole('button', { name: /Delete organisation|Invite member/ }).count()).toBe(0)
  }
  expect(watch.problems).toEqual([])
})

test('its pages are good at both widths', async () => {
  const { members } = await organisationOf(stack, ['owner', 'admin', 'developer', 'billing'])
  const { key } = await members.developer.json<CreatedKey>('/console/api/keys', { body: { name: 'laptop' } })
  await members.owner.json('/console/api/members/invitations', {
    body: { email: 'somebody.with.a.long.name@example.test', role: 'billing' },
  })
  const opened = await openAs(members.owner)
  for (const [path, title] of [
    ['/members', 'Members'],
    ['/activity', 'Activity'],
    ['/organisation', 'Organisation'],
    ['/settings', 'Settings'],
  ] as const)
    await expectGoodPage(opened, stack.url + path, title)
  await opened.page.goto(`${stack.url}/activity?target=${key.id}`)
  await opened.page.getByRole('heading', { name: `Activity for ${key.id}` }).waitFor()
  const rows = opened.page.getByRole('row').filter({ hasText: key.id })
  await rows.filter({ hasText: 'API key created' }).waitFor()
  const billing = await openAs(members.billing, NARROW)
  await expectGoodPage(billing, `${stack.url}/dashboard`, 'Dashboard')
  await expectGoodPage(billing, `${stack.url}/usage?group=member`, 'Usage')
  await billing.page.setViewportSize(WIDE)
  expect(await billing.page.getByRole('link', { name: 'API keys' }).count()).toBe(0)
  expect(await billing.page.getByRole('link', { name: 'Billing', exact: true }).count()).toBe(1)
})

test('somebody is invited by a link, signs up with it, and is removed again', async () => {
  const { members, accountId } = await organisationOf(stack, ['owner'])
  const { page } = await openAs(members.owner)
  await page.goto(`${stack.url}/members`)
  await page.getByRole('button', { name: 'Invite member' }).click()
  const email = `invited-${Date.now()}@example.test`
  await page.getByLabel('Email address').fill(email)
  await expectAccessible(page)
  await page.getByRole('button', { name: 'Invite', exact: true }).click()
  const link = await page.getByText(/\/invitation#/).innerText()
  await page.getByRole('button', { name: 'Done' }).click()

  const { page: invited } = await browser.open(stack.url, { viewport: NARROW })
  await invited.goto(link.trim())
  await heading(invited, 'Join an organisation').waitFor()
  await expectToFit(invited)
  await expectAccessible(invited)
  await invited.getByRole('link', { name: 'Create account' }).click()
  expect(await invited.getByLabel('Email address').inputValue()).toBe(email)
  await invited.getByLabel('Password').fill(PASSWORD)
  await invited.getByRole('button', { name: 'Create account' }).click()
  // To sign up by the invitation accepts it.
  await heading(invited, 'Dashboard').waitFor()
  await invited.setViewportSize(WIDE)
  await invited.getByRole('button', { name: /^Account: Works/ }).waitFor()

  await page.reload()
  await chooseAction(page, email, 'Remove')
  await page.getByRole('button', { name: 'Remove member' }).click()
  await invited.getByRole('button', { name: `Account: ${email}` }).waitFor()
  const left = await members.owner.json<SessionView>('/console/api/session')
  expect(left.account.id).toBe(accountId)
  await actOn(members.owner, members.owner.personId)
})
