import { expect, test } from 'vitest'
import type { CreatedKey } from '../../src/core/api/keys.ts'
import { signedUp } from '../helpers/console-client.ts'
import { expectAccessibleAtBothWidths } from './accessibility.ts'
import { testConsole } from './console-stack.ts'
import { lendSession } from './sample-account.ts'

const { stack, browser } = testConsole()

test('the playground says how far a short balance or budget limited an answer', async () => {
  const client = await signedUp(stack.url)
  // Pays for some of the forty tokens that this model answers with.
  const body = { name: 'playground', limit_usd: '0.00003' }
  await client.json<CreatedKey>('/console/api/keys', { body })
  const opened = await browser.open(stack.url)
  const { page, watch } = opened
  await lendSession(opened, client, stack.url)
  await page.goto(`${stack.url}/playground?model=acme/swift`)
  const message = page.getByLabel('Message', { exact: true })
  await message.fill('How does a hump yard sort its wagons?')
  await message.press('Enter')
  const answer = page.locator('.answer')
  await answer.getByText('which is what your balance or budget affords').waitFor()
  const said = await answer.innerText()
  const [, limit] = /limited to (\d+) tokens/.exec(said) ?? []
  const [, tokens] = /Output tokens\s*(\d+)/.exec(said) ?? []
  expect(limit).toBe(tokens)
  expect(Number(limit)).toBeLessThan(40)
  await expectAccessibleAtBothWidths(page)
  await answer.getByRole('link', { name: 'Top up' }).click()
  await page.waitForURL('**/billing')
  expect(watch.problems).toEqual([])
})
