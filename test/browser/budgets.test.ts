import { expect, test } from 'vitest'
import { parseUsd } from '../../src/core/kernel/money.ts'
import { ask } from '../helpers/chat-client.ts'
import { organisationOf } from '../helpers/organisation.ts'
import { expectAccessible } from './accessibility.ts'
import { testConsole } from './console-stack.ts'
import { expectGoodPage } from './good-page.ts'
import { chooseAction, exactAmount, stat } from './on-screen.ts'
import { lendSession, testSampleAccount } from './sample-account.ts'

const { stack, browser } = testConsole()
const { sample, opened } = testSampleAccount({ stack, browser })

const call = () => ask({ url: stack.url, key: sample.hidden.key }, { model: 'acme/swift' })

test('the spend cap of an account is set, shown with what is spent and left, and removed', async () => {
  const { page, watch } = opened
  await page.goto(`${stack.url}/billing?tab=limits`)
  const panel = page.getByRole('region', { name: 'Monthly spend cap' })
  await panel.getByText('There is no cap.').waitFor()
  const spent = await exactAmount(panel.locator('data').first())
  expect(spent).toBeGreaterThan(0n)

  const field = panel.getByLabel('Cap per month (USD)')
  await field.fill('5 dollars')
  await panel.getByRole('button', { name: 'Save' }).click()
  await panel.getByText('Enter an amount from 0.000001').waitFor()
  await field.fill('2.00')
  await panel.getByRole('button', { name: 'Save' }).click()
  await panel.getByText('spent this month').and(panel.getByText('left')).waitFor()
  await panel.getByText(/^Resets /).waitFor()
  expect(await exactAmount(panel.locator('data').nth(2))).toBe(parseUsd('2.00') - spent)
  await expectGoodPage(opened, page.url(), 'Billing')
  expect((await call()).status).toBe(200)

  await field.fill('0.000001')
  await panel.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Spend cap saved.').last().waitFor()
  expect((await call()).errorCode).toBe('key_limit_exceeded')
  await field.fill('')
  await panel.getByRole('button', { name: 'Save' }).click()
  await panel.getByText('There is no cap.').waitFor()
  expect((await call()).status).toBe(200)
  expect(watch.problems).toEqual([])
})

test('the budget of a member is set on the page of members, which shows what is spent of it', async () => {
  const { members } = await organisationOf(stack, ['owner', 'developer'])
  const ofOwner = await browser.open(stack.url)
  const { page, watch } = ofOwner
  await lendSession(ofOwner, members.owner, stack.url)
  await page.goto(`${stack.url}/members`)
  const row = page.getByRole('row').filter({ hasText: members.developer.email })
  await row.getByText('none').waitFor()
  await chooseAction(page, members.developer.email, 'Set budget')
  const dialog = page.getByRole('dialog', { name: `Budget of ${members.developer.email}` })
  await dialog.getByLabel('Budget per month (USD)').fill('12.50')
  await expectAccessible(page)
  await dialog.getByRole('button', { name: 'Save' }).click()
  await row.getByText('$12.50').waitFor()
  const memberBudgets = await stack.postgres.organisationMember.findMany({
    where: { personId: members.developer.personId },
  })
  expect(memberBudgets.map(({ monthlyBudgetPico }) => monthlyBudgetPico)).toEqual([parseUsd('12.50')])
  await expectGoodPage(ofOwner, page.url(), 'Members')
  expect(watch.problems).toEqual([])
  // The member sees it where they work.
  const ofMember = await browser.open(stack.url)
  await lendSession(ofMember, members.developer, stack.url)
  await ofMember.page.goto(`${stack.url}/dashboard`)
  const tile = stat(ofMember.page, 'Your budget left')
  await expect.poll(() => exactAmount(tile)).toBe(parseUsd('12.50'))
  await ofMember.page.getByText(/of \$12\.50 spent; resets /).waitFor()
  await expectGoodPage(ofMember, ofMember.page.url(), 'Dashboard')
  expect(ofMember.watch.problems).toEqual([])
})
