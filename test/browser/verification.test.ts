import { expect, test } from 'vitest'
import { PASSWORD } from '../helpers/console-client.ts'
import { testMailCatcher } from '../helpers/resources.ts'
import { expectAccessibleAtBothWidths } from './accessibility.ts'
import { testConsole } from './console-stack.ts'
import { expectToFit, heading, signUp, stat } from './on-screen.ts'

const EMAIL = 'verifier@example.test'
/** Where a proxy serves the gateway: not at the root of its host. */
const BELOW = '/gw'

const catcher = testMailCatcher()
const address = () => stack.url + BELOW

const { stack, browser } = testConsole(() => ({
  environment: {
    ...catcher.environment,
    PUBLIC_URL: `http://gateway.example${BELOW}`,
  },
}))

test('a new user is asked to verify the address, has the message sent again, follows its link and has the credit', async () => {
  const opened = await browser.open(stack.url)
  const { page, watch } = opened
  await signUp(opened, address(), EMAIL, PASSWORD)
  const banner = page.getByText('Verify your email address to get your free credit.')
  await banner.waitFor()
  expect(await stat(page, 'Available').innerText()).toBe('$0.00')
  await catcher.tokens(EMAIL)
  await page.getByRole('button', { name: 'Resend email' }).click()
  await page.getByText('Email sent.').waitFor()
  const [, token = ''] = await catcher.tokens(EMAIL, 2)
  await expectAccessibleAtBothWidths(page)
  await expectToFit(page)

  await page.goto(`${address()}/verify#${token}`)
  await heading(page, 'Verify your email address').waitFor()
  await expectAccessibleAtBothWidths(page)
  await page.getByRole('button', { name: 'Verify email address' }).click()
  await page.getByText('Email address verified.').waitFor()
  await page.getByRole('link', { name: 'Go to the dashboard' }).click()
  await heading(page, 'Dashboard').waitFor()
  expect(await stat(page, 'Available').innerText()).toBe('$0.50')
  await banner.waitFor({ state: 'detached' })

  // The same link, again.
  watch.expectRefusal(`POST ${BELOW}/console/api/verify 400`)
  await page.goto(`${address()}/verify#${token}`)
  await page.reload()
  await page.getByRole('button', { name: 'Verify email address' }).click()
  await page.getByText('This link was used or has expired.').waitFor()
  expect(await page.getByRole('button', { name: 'Verify email address' }).count()).toBe(0)
  expect(watch.problems).toEqual([])
})

test('everything is found below the path that the gateway is served at', async () => {
  const { page, watch } = await browser.open(stack.url)
  await page.goto(`${address()}/models/acme/swift`)
  await heading(page, 'Acme Swift').waitFor()
  await page.reload()
  await heading(page, 'Acme Swift').waitFor()
  await page.getByText(`${address()}/v1`).first().waitFor()
  await page.getByRole('link', { name: 'Models' }).first().click()
  await page.waitForURL(`${address()}/models`)
  const answer = await page.goto(`${address()}/pricing.json`)
  expect(answer?.status()).toBe(200)
  expect(watch.problems).toEqual([])
  const call = await fetch(`${address()}/v1/chat/completions`, { method: 'POST' })
  expect(call.status).toBe(401)
})
