import { expect, test } from 'vitest'
import { parseUsd } from '../../../src/core/kernel/money.ts'
import { ask } from '../../helpers/chat-client.ts'
import { PASSWORD } from '../../helpers/console-client.ts'
import { expectAccessible } from '../accessibility.ts'
import { NARROW, WIDE } from '../browser.ts'
import { PROVIDER_SECRET } from '../console-stack.ts'
import {
  chooseAction,
  createKey,
  exactAmount,
  expectAmount,
  expectToFit,
  goTo,
  heading,
  signUp,
  stat,
} from '../on-screen.ts'
import { browser, stack } from './account-console.ts'

const balanceOf = async (accountId: string) =>
  (await stack.postgres.account.findUniqueOrThrow({ where: { id: accountId } })).balancePico

/** What the ledger took from the customer for a call. */
async function chargeOf(accountId: string, callId: string): Promise<bigint> {
  const entry = await stack.postgres.ledgerEntry.findFirstOrThrow({
    where: { transactionId: callId, ledgerAccount: `customer:${accountId}` },
  })
  return -entry.amountPico
}

test.each([
  ['on a desk', WIDE],
  ['on a phone', NARROW],
])(
  'a new user %s: signs up, sees credit, calls, sees the exact cost, tops up, revokes',
  async (where, viewport) => {
    const email = `traveller-${viewport.width}@example.test`
    const prompt = `What did the signalman say at ${viewport.width} past nine?`
    const opened = await browser.open(stack.url, { viewport })
    const { page, watch } = opened

    await page.goto(stack.url)
    await page.getByRole('navigation', { name: 'Site' }).getByRole('link', { name: 'Sign up' }).click()
    await heading(page, 'Create an account').waitFor()
    await signUp(opened, stack.url, email, PASSWORD)
    const { id: accountId } = await stack.postgres.account.findUniqueOrThrow({ where: { email } })
    expect(await exactAmount(stat(page, 'Available'))).toBe(parseUsd('0.50'))
    // The free credit is the first step; there is no chart before there is anything to show in it.
    await page.getByText('1 of 4 done').waitFor()
    expect(await page.getByText('Show as a table').count()).toBe(0)
    await expectToFit(page)

    const secret = await createKey(opened, 'first service')
    const answer = await ask(
      { url: stack.url, key: secret },
      {
        model: 'acme/swift',
        messages: [{ role: 'user', content: prompt }],
      },
    )
    expect(answer.status).toBe(200)
    const callId = String(answer.id)
    await stack.settled(accountId)
    const charge = await chargeOf(accountId, callId)
    // Six decimals of a dollar would not hold it.
    expect(charge % 1_000_000n).not.toBe(0n)

    await goTo(page, 'Usage')
    await expectAmount(stat(page, 'Cost'), async () => charge)
    const row = page.getByRole('row').filter({ hasText: 'acme/swift' }).filter({ hasText: 'first service' })
    expect(await exactAmount(row.locator('.money'))).toBe(charge)
    await expectToFit(page)
    await row.getByRole('link', { name: 'acme/swift' }).click()
    await heading(page, 'Call').waitFor()
    await expectAmount(stat(page, 'Cost'), async () => charge)

    await goTo(page, 'Billing')
    await expectAmount(stat(page, 'Balance'), () => balanceOf(accountId))
    expect(await balanceOf(accountId)).toBe(parseUsd('0.50') - charge)
    await page.getByRole('radio', { name: 'Other' }).check()
    await page.getByLabel('Other amount (USD)').fill('12.34')
    await page.getByRole('button', { name: 'Top up $12.34' }).click()
    await page.getByText('$12.34 added to your balance.').waitFor()
    await expectAmount(stat(page, 'Balance'), () => balanceOf(accountId))
    await expectAmount(stat(page, 'Available now'), async () => parseUsd('12.84') - charge)
    expect(await balanceOf(accountId)).toBe(parseUsd('12.84') - charge)
    const movements = page.getByRole('table', { name: 'Transactions' }).locator('tbody .money')
    await expect.poll(() => movements.count()).toBe(3)
    const amounts = await Promise.all((await movements.all()).map(exactAmount))
    const sum = amounts.reduce((total: bigint, amount) => total + amount, 0n)
    expect(sum).toBe(await balanceOf(accountId))
    await expectToFit(page)

    await goTo(page, 'API keys')
    await chooseAction(page, 'the key first service', 'Revoke')
    await page.getByRole('button', { name: 'Revoke key', exact: true }).click()
    await page.getByRole('heading', { name: 'Revoked and expired keys' }).waitFor()
    const refused = await ask({ url: stack.url, key: secret }, { model: 'acme/swift' })
    expect(refused).toMatchObject({ status: 403, errorCode: 'key_revoked' })

    expect(watch.problems, where).toEqual([])
    expect(await watch.placesOf(secret)).toEqual(['POST /console/api/keys'])
    expect(await watch.placesOf(callId)).toContain('event /console/api/live')
    for (const hidden of [prompt, PASSWORD, PROVIDER_SECRET, stack.environment.MASTER_KEY ?? '']) {
      expect(await watch.placesOf(hidden)).toEqual([])
    }
    const kept = await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])')
    expect(kept).not.toContain(secret)
  },
)

test('a visitor gets a first answer by five visible buttons and two fields', async () => {
  const opened = await browser.open(stack.url)
  const { page, watch } = opened
  const sent: string[] = []
  page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
  const clicks: string[] = []
  // It waits until the element is visible and nothing covers it.
  const press = async (role: 'link' | 'button', name: string) => {
    await page.getByRole(role, { name }).first().click()
    clicks.push(`${role} ${name}`)
  }
  await page.goto(stack.url)
  await press('link', 'Start with $0.50 of free credit')
  await page.getByLabel('Email address', { exact: true }).fill('newcomer@example.test')
  await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
  await press('button', 'Create account')
  await press('link', 'Create API key')
  await press('button', 'Create key')
  const dialog = page.getByRole('dialog', { name: 'Save your API key' })
  const secret = await dialog.locator('.secret code').innerText()
  // The snippet beside the button has the key in it.
  await dialog.getByText(`Authorization: Bearer ${secret}`).first().waitFor()
  await press('button', 'Run it')
  await dialog.getByText('Your first call is made.').waitFor()
  await expectAccessible(page)
  expect(clicks.length).toBeLessThanOrEqual(5)
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('row').filter({ hasText: 'First key' }).waitFor()

  // A provider key that is pasted and not saved stays in its field.
  const pasted = 'pasted-provider-key-51d2c7'
  await goTo(page, 'Provider keys')
  await page.getByRole('button', { name: 'Add provider key' }).first().click()
  await page.getByRole('dialog').locator('input[type=password]').fill(pasted)
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await goTo(page, 'Dashboard')
  expect(sent.filter((request) => request.includes(pasted))).toEqual([])
  expect(
    await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])'),
  ).not.toContain(pasted)
  expect(watch.problems).toEqual([])
  await opened.context.close()
})
