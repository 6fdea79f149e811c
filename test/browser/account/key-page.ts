import { expect, test } from 'vitest'
import { parseUsd } from '../../../src/core/kernel/money.ts'
import { ask } from '../../helpers/chat-client.ts'
import { expectGoodPage } from '../good-page.ts'
import { exactAmount, heading, stat } from '../on-screen.ts'
import { opened, sample, stack } from './account-console.ts'

const call = () => ask({ url: stack.url, key: sample.hidden.key }, { model: 'acme/swift' })

test('a key has a page of its own, where it is edited, paused, resumed and revoked', async () => {
  const { page, watch } = opened
  await page.goto(`${stack.url}/keys`)
  await page.getByRole('link', { name: 'night service' }).click()
  await heading(page, 'night service').waitFor()
  await expectGoodPage(opened, page.url(), 'night service')
  const spent = await exactAmount(stat(page, 'Spent'))
  expect(spent).toBeGreaterThan(0n)
  expect(await exactAmount(stat(page, 'Remaining'))).toBe(parseUsd('5.00') - spent)
  await page.getByRole('row').filter({ hasText: 'birch/open-leaf' }).first().waitFor()

  await page.getByRole('button', { name: 'Edit' }).click()
  const dialog = page.getByRole('dialog', { name: 'Edit “night service”' })
  await dialog.getByLabel('Name').fill('day service')
  await dialog.getByLabel('Spending limit (USD)').fill('0.0000001')
  await dialog.getByRole('button', { name: 'Save changes' }).click()
  await dialog.getByText('Enter an amount from 0.000001').waitFor()
  await dialog.getByLabel('Spending limit (USD)').fill('0.000001')
  await dialog.getByText('Expiry and rate limits').click()
  await dialog.getByLabel('Requests per minute').fill('60')
  await dialog.getByRole('button', { name: 'Save changes' }).click()
  await heading(page, 'day service').waitFor()
  await page.getByText('60, lowered from 600').waitFor()
  expect(await exactAmount(stat(page, 'Remaining'))).toBe(0n)
  expect((await call()).errorCode).toBe('key_limit_exceeded')

  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Resume' }).waitFor()
  expect((await call()).errorCode).toBe('key_revoked')
  await expectGoodPage(opened, page.url(), 'day service')
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('button', { name: 'Pause' }).waitFor()
  expect((await call()).errorCode).toBe('key_limit_exceeded')

  await page.getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('alertdialog').getByRole('button', { name: 'Revoke key' }).click()
  await page.getByRole('definition').getByText('revoked', { exact: true }).waitFor()
  expect(await page.getByRole('button', { name: 'Edit' }).count()).toBe(0)
  expect(watch.problems).toEqual([])
})
