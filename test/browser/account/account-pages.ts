import { randomBytes } from 'node:crypto'
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import type { GuardrailList } from '../../../src/core/api/guardrails.ts'
import type { CreatedKey } from '../../../src/core/api/keys.ts'
import type { NewTotp } from '../../../src/core/api/second-factor.ts'
import type { SessionView } from '../../../src/core/api/sessions.ts'
import { MESSAGE_DRAFT, NO_SETTINGS } from '../../../web/lib/playground/chat-settings.ts'
import { PASSWORD, signedUp } from '../../helpers/console-client.ts'
import { codeOf } from '../../helpers/totp-code.ts'
import { expectAccessible } from '../accessibility.ts'
import { NARROW, type TestBrowser, WIDE } from '../browser.ts'
import { exactAmount, expectToFit, goTo, heading, signOut } from '../on-screen.ts'
import { lendSession } from '../sample-account.ts'
import { browser, github, stack, TRIES } from './account-console.ts'

const isLive = (request: { url(): string }) => request.url().endsWith('/console/api/live')

/** A page of a new account that is signed in already. */
async function openSignedIn(path: string, viewport = WIDE) {
  const client = await signedUp(stack.url)
  const { account } = await client.json<SessionView>('/console/api/session')
  const opened = await browser.open(stack.url, { viewport })
  await lendSession(opened, client, stack.url)
  await opened.page.goto(stack.url + path)
  return { ...opened, client, accountId: account.id }
}

async function signIn(
  page: Awaited<ReturnType<TestBrowser['open']>>['page'],
  email: string,
  password: string,
) {
  await page.getByLabel('Email address').fill(email)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Sign in' }).click()
}

describe('signing in', () => {
  test('leads back to where one was going, and out again for good', async () => {
    const client = await signedUp(stack.url)
    const { page, watch, context } = await browser.open(stack.url)
    await page.goto(`${stack.url}/usage?days=7#for-the-browser`)
    await heading(page, 'Sign in').waitFor()
    expect(new URL(page.url()).search).not.toContain('for-the-browser')
    await signIn(page, client.email, PASSWORD)
    await heading(page, 'Usage').waitFor()
    expect(new URL(page.url()).search).toBe('?days=7')
    expect(new URL(page.url()).hash).toBe('#for-the-browser')
    const cookies = await context.cookies()
    await signOut(page)
    await page.getByRole('link', { name: 'Sign in', exact: true }).waitFor()
    // A copy of the cookie opens nothing.
    await context.addCookies(cookies)
    await page.goto(`${stack.url}/dashboard`)
    await heading(page, 'Sign in').waitFor()
    expect(watch.problems).toEqual([])
    await context.close()
  })

  test('says that the password is wrong, and after too many tries when to come back', async () => {
    const { email } = await signedUp(stack.url)
    const { page, watch, context } = await browser.open(stack.url, { viewport: NARROW })
    watch.expectRefusal('POST /console/api/sign-in 401', 'POST /console/api/sign-in 429')
    await page.goto(`${stack.url}/sign-in`)
    for (let tried = 0; tried < TRIES; tried++) {
      const answered = page.waitForResponse((response) => response.url().endsWith('/sign-in'))
      await signIn(page, email, `wrong password ${tried}`)
      expect((await answered).status()).toBe(401)
      await page.getByRole('alert').getByText('Incorrect email or password').waitFor()
    }
    await signIn(page, email, PASSWORD)
    await page
      .getByRole('alert')
      .getByText(/Too many attempts. Try again in \d+ minutes?\./)
      .waitFor()
    await expectToFit(page)
    expect(watch.problems).toEqual([])
    await context.close()
  })

  test('takes an authenticator app or a passkey as a second step, and a passkey alone', async () => {
    const { email } = await signedUp(stack.url)
    // Browsers have passkeys for names, and not for addresses.
    const site = stack.url.replace('127.0.0.1', 'localhost')
    const { page, watch, context } = await browser.open(site)
    const devtools = await context.newCDPSession(page)
    await devtools.send('WebAuthn.enable')
    await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      },
    })
    const dialog = page.getByRole('dialog')
    const passwordStep = async () => {
      await dialog.getByLabel('Current password').fill(PASSWORD)
      await dialog.getByRole('button', { name: 'Continue' }).click()
    }
    const signOut = async () => {
      // What the page still asks for is no longer its account's.
      await page.goto('about:blank')
      await context.clearCookies()
      await page.goto(`${site}/sign-in`)
    }
    await page.goto(`${site}/sign-in?next=/settings`)
    await page.getByLabel('Email address').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await heading(page, 'Settings').waitFor()

    await page.getByRole('button', { name: 'Set up the authenticator app' }).click()
    await passwordStep()
    await page.getByRole('img', { name: 'QR code with the secret of this account' }).waitFor()
    const secret = await dialog.locator('code').innerText()
    await expectAccessible(page)
    await dialog.getByRole('textbox', { name: 'Code' }).fill(codeOf(secret))
    await dialog.getByRole('button', { name: 'Turn on' }).click()
    const codes = await page.locator('.secret code').innerText()
    expect(codes.trim().split('\n')).toHaveLength(10)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Done' }).click()

    await page.getByRole('button', { name: 'Add a passkey' }).click()
    await dialog.getByLabel('Name').fill('Test device')
    await passwordStep()
    await page.getByText('Test device').first().waitFor()

    await signOut()
    await page.getByLabel('Email address').fill(email)
    await page.getByLabel('Password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await page.getByRole('button', { name: 'Use your passkey' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('textbox', { name: 'Code' }).fill(codeOf(secret, 1))
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await heading(page, 'Dashboard').waitFor()

    await signOut()
    await page.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await heading(page, 'Dashboard').waitFor()
    expect(watch.problems).toEqual([])
    await context.close()
  })

  test('ends with the account, which its holder deletes with the balance given up', async () => {
    const { page, watch, context, client } = await openSignedIn('/settings')
    await page.getByRole('link', { name: 'Download export' }).waitFor()
    await page.getByRole('button', { name: 'Delete account' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Current password').fill(PASSWORD)
    watch.expectRefusal('POST /console/api/account/delete 409')
    await dialog.getByRole('button', { name: 'Delete account' }).click()
    await dialog.getByText('Confirm that you forfeit it.').waitFor()
    await expectAccessible(page)
    await dialog.getByLabel('I forfeit my remaining balance of').check()
    await dialog.getByRole('button', { name: 'Delete account' }).click()
    await heading(page, 'One API for every model.').waitFor()
    expect((await client.ask('/console/api/session')).status).toBe(401)
    expect(watch.problems).toEqual([])
    await context.close()
  })

  test('with another service opens an account, and links one that has a password', async () => {
    const { page, context } = await browser.open(stack.url)
    await page.goto(`${stack.url}/sign-in?next=/keys`)
    await page.getByRole('button', { name: 'Continue with GitHub' }).click()
    await heading(page, 'API keys').waitFor()
    await context.clearCookies()

    const holder = await signedUp(stack.url)
    await page.goto(`${stack.url}/sign-in?next=/settings`)
    await signIn(page, holder.email, PASSWORD)
    await heading(page, 'Settings').waitFor()
    const link = async () => {
      await page.getByRole('button', { name: 'Link GitHub' }).click()
      await page.getByRole('dialog').getByLabel('Current password').fill(PASSWORD)
      await page.getByRole('dialog').getByRole('button', { name: 'Continue' }).click()
    }
    await link()
    await page.getByText('This account of the other service is linked already').waitFor()
    await expectAccessible(page)
    github.state.user = { id: 2, email: 'second@example.test', verified: true }
    await link()
    await page.getByText('second@example.test').waitFor()

    const factor = '/console/api/second-factor/totp'
    const { secret } = await holder.json<NewTotp>(factor, { body: { current_password: PASSWORD } })
    await holder.json(`${factor}/confirm`, { body: { code: codeOf(secret) } })
    await context.clearCookies()
    await page.goto(`${stack.url}/sign-in?next=/keys`)
    await page.getByRole('button', { name: 'Continue with GitHub' }).click()
    await page.getByText('Two-step verification').waitFor()
    await page.getByRole('textbox', { name: 'Code' }).fill(codeOf(secret, 1))
    await page.getByRole('button', { name: 'Sign in', exact: true }).click()
    await heading(page, 'API keys').waitFor()
    await context.close()
  })

  test('ends everywhere else when the password is changed, on the open page at once', async () => {
    const { email } = await signedUp(stack.url)
    const [here, there] = await Promise.all([browser.open(stack.url), browser.open(stack.url)])
    for (const { page } of [here, there]) {
      await page.goto(`${stack.url}/sign-in`)
      await signIn(page, email, PASSWORD)
      await heading(page, 'Dashboard').waitFor()
    }
    await goTo(here.page, 'Settings')
    await here.page.getByLabel('Current password').fill(PASSWORD)
    await here.page.getByLabel('New password').fill('signals and sidings')
    // The page that changes it hears that its session ended before it has the cookie of the next.
    await here.page.route('**/console/api/password', async (route) => {
      const sent = route.request()
      const told = new Promise<void>((resolve) => {
        const look = (request: { url(): string }) => isLive(request) && resolve()
        here.page.on('requestfinished', look).on('requestfailed', look)
      })
      const { cookie = '', origin = stack.url } = await sent.allHeaders()
      const headers = { 'content-type': 'application/json', cookie, origin }
      const response = await fetch(sent.url(), { method: 'POST', headers, body: sent.postData() })
      await told
      await route.fulfill({ status: response.status, headers: Object.fromEntries(response.headers) })
    })
    const connectedAnew = here.page.waitForRequest(isLive)
    await here.page.getByRole('button', { name: 'Change password' }).click()
    await here.page.getByText('Password changed.').waitFor()
    await connectedAnew
    await heading(there.page, 'Sign in').waitFor()
    await here.page.reload()
    await heading(here.page, 'Settings').waitFor()
    expect(here.watch.problems).toEqual([])
    expect(there.watch.problems).toEqual([])
    await Promise.all([here.context.close(), there.context.close()])
  })
})

test('by Tab and Enter alone one signs up and makes a key, and always sees where one is', async () => {
  const { page, watch, context } = await browser.open(stack.url)
  const email = `keyboard-${randomBytes(4).toString('hex')}@example.test`
  const tabTo = async (name: string) => {
    for (let pressed = 0; pressed < 60; pressed++) {
      await page.keyboard.press('Tab')
      const focused = await page.evaluate(FOCUSED)
      const { text, outline } = focused as { text: string; outline: string }
      if (text !== '') expect(outline, `the focus on “${text}” is visible`).not.toBe('')
      if (text === name) return
    }
    throw new Error(`Tab does not reach “${name}”`)
  }
  await page.goto(stack.url)
  await heading(page, 'One API for every model.').waitFor()
  await tabTo('Sign up')
  await page.keyboard.press('Enter')
  await heading(page, 'Create an account').waitFor()
  await tabTo('Email address')
  await page.keyboard.type(email)
  await tabTo('Password')
  await page.keyboard.type(PASSWORD)
  await page.keyboard.press('Enter')
  await heading(page, 'Dashboard').waitFor()
  await tabTo('API keys')
  await page.keyboard.press('Enter')
  await heading(page, 'API keys').waitFor()
  await tabTo('Create API key')
  await page.keyboard.press('Enter')
  await page.getByRole('dialog', { name: 'Create API key' }).waitFor()
  await tabTo('Name')
  await page.keyboard.type('typed')
  await tabTo('Create key')
  await page.keyboard.press('Enter')
  const shown = page.getByRole('dialog', { name: 'Save your API key' })
  expect(await shown.locator('.secret code').innerText()).toMatch(/^sk-sy-\w+$/)
  await tabTo('Done')
  await page.keyboard.press('Enter')
  await page.getByRole('row').filter({ hasText: 'typed' }).waitFor()
  expect(watch.problems).toEqual([])
  await context.close()
})

/** What has the focus, by its label or text, and the outline or shadow that shows it. */
const FOCUSED = `(() => {
  const focused = document.activeElement
  if (!focused || focused === document.body) return { text: '', outline: '' }
  const text = (focused.labels?.[0]?.textContent ?? focused.getAttribute('aria-label') ?? focused.textContent).trim()
  const looks = [focused, focused.parentElement].map((element) => getComputedStyle(element))
  const outline = looks.filter((style) => style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0)
  return { text, outline: outline.length > 0 ? 'outline' : getComputedStyle(focused).boxShadow.replace('none', '') }
})()`

test('a key at a provider is stored and never comes back to the page', async () => {
  const { page, watch, context } = await openSignedIn('/provider-keys')
  const providerKey = `customers-own-${randomBytes(8).toString('hex')}`
  await page.getByRole('button', { name: 'Add provider key' }).first().click()
  await page.getByLabel('Provider', { exact: true }).selectOption('alpha')
  await page.getByLabel('Key', { exact: true }).fill(providerKey)
  await page.getByRole('button', { name: 'Save key' }).click()
  await page.getByRole('row').filter({ hasText: 'alpha' }).waitFor()
  await page.reload()
  await page.getByRole('row').filter({ hasText: 'alpha' }).waitFor()
  expect(await page.content()).not.toContain(providerKey)
  expect(await watch.placesOf(providerKey)).toEqual([])
  expect(watch.problems).toEqual([])
  await context.close()
})

test('a preset is saved in the playground, edited, compared and restored', async () => {
  const { page, watch, client, context } = await openSignedIn('/playground?model=acme/swift')
  await client.json<CreatedKey>('/console/api/keys', { body: { name: 'playground' } })
  await page.reload()
  await page.getByRole('button', { name: 'Settings' }).click()
  await page.getByLabel('System prompt').fill('Be brief.')
  await page.getByRole('button', { name: 'Presets' }).click()
  await page.getByRole('button', { name: 'Save these settings …' }).click()
  await page.getByLabel('Name').fill('support')
  await page.getByRole('button', { name: 'Save preset' }).click()
  await page.getByText('Saved as @preset/support, version 1.').waitFor()

  await page.goto(`${stack.url}/presets`)
  await page.getByRole('link', { name: 'support' }).click()
  await page.getByText('@preset/support@1').waitFor()
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByLabel('System prompt').fill('Be kind.')
  await page.getByRole('button', { name: 'Add a fallback' }).click()
  await page.getByLabel('Search models').fill('birch/open-leaf')
  await page.keyboard.press('Enter')
  await page.getByLabel('Prefer providers by').selectOption('price')
  await page.getByRole('button', { name: 'Save version 2' }).click()
  await page.getByRole('button', { name: 'Compare version 1 with the latest' }).click()
  await page.getByText('Be kind.').last().waitFor()
  expect(await client.json('/console/api/presets/support')).toMatchObject({
    settings: { models: ['acme/swift', 'birch/open-leaf'], provider: { sort: 'price' }, system: 'Be kind.' },
  })
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Restore version 1' }).click()
  await page.getByText('Version 3, saved').waitFor()
  expect(await client.json('/console/api/presets/support')).toMatchObject({
    ...{ version: 3, settings: { model: 'acme/swift', system: 'Be brief.' } },
  })
  await page.goto(`${stack.url}/playground`)
  await page.getByRole('button', { name: 'Presets' }).click()
  await page.getByRole('button', { name: 'support version 3' }).click()
  await page.getByRole('button', { name: 'Settings' }).click()
  expect(await page.getByLabel('System prompt').inputValue()).toBe('Be brief.')
  // A model that was found leads on to a preset with it.
  await page.goto(`${stack.url}/models/acme/swift`)
  await page.getByRole('link', { name: 'Use in preset' }).click()
  await page
    .getByRole('dialog', { name: 'New preset' })
    .getByRole('button', { name: 'Model: Acme Swift' })
    .waitFor()
  expect(watch.problems).toEqual([])
  await context.close()
})

test("a webhook's signing secret is shown once", async () => {
  const { page, watch, context } = await openSignedIn('/webhooks', NARROW)
  await page.getByRole('button', { name: 'Add endpoint' }).first().click()
  await page.getByLabel('Endpoint URL').fill('http://127.0.0.1:9/hook')
  await page.getByRole('dialog').getByRole('button', { name: 'Add endpoint' }).click()
  const dialog = page.getByRole('dialog', { name: 'Save your signing secret' })
  const secret = await dialog.locator('.secret code').innerText()
  expect(secret).toMatch(/^whsec_/)
  await expectToFit(page)
  await dialog.getByRole('button', { name: 'Done' }).click()
  await page.reload()
  await page.getByRole('heading', { name: 'http://127.0.0.1:9/hook' }).waitFor()
  expect(await page.content()).not.toContain(secret)
  expect(await watch.placesOf(secret)).toEqual(['POST /console/api/webhooks'])
  expect(watch.problems).toEqual([])
  await context.close()
})

test('a guardrail of a key is created, changed, tested and deleted, and its secret is shown once', async () => {
  const { page, watch, client, context } = await openSignedIn('/webhooks', NARROW)
  const { key } = await client.json<CreatedKey>('/console/api/keys', { body: { name: 'night' } })
  const stored = async () => (await client.json<GuardrailList>('/console/api/guardrails')).data
  const choose = async (action: string) => {
    await page.getByRole('button', { name: 'Actions for the guardrail of night' }).click()
    await page.getByRole('menuitem', { name: action }).click()
  }
  await page.reload()
  await page.getByRole('button', { name: 'Add guardrail' }).click()
  const form = page.getByRole('dialog', { name: 'Add guardrail' })
  await form.getByLabel('Calls of').selectOption('night')
  // Nobody listens there.
  await form.getByLabel('URL').fill('http://127.0.0.1:9/guard')
  await form.getByLabel('Judges').selectOption('Prompts')
  await form.getByLabel('May replace').selectOption('Yes')
  await form.getByLabel('When it fails').selectOption('Let the call pass')
  await form.getByLabel('Time limit').fill('99')
  await form.getByRole('button', { name: 'Add guardrail' }).click()
  await form.locator('[aria-invalid=true]:focus').fill('1500')
  await form.getByRole('button', { name: 'Add guardrail' }).click()
  const shown = page.getByRole('dialog', { name: 'Save your signing secret' })
  const secret = await shown.locator('.secret code').innerText()
  expect(secret).toMatch(/^whsec_/)
  await shown.getByRole('button', { name: 'Done' }).click()
  const set = { key_id: key.id, kind: 'http', url: 'http://127.0.0.1:9/guard', points: ['prompt'] }
  const how = { may_replace: true, on_failure: 'allow', timeout_ms: 1_500, has_secret: true }
  expect(await stored()).toMatchObject([{ ...set, ...how }])

  await choose('Test')
  await page.getByLabel('Text').fill('Where is the night mail?')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByRole('dialog', { name: 'Its answer' }).getByText('failed', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Done' }).click()

  await choose('Edit')
  await page.getByLabel('Kind').selectOption('Moderation API')
  await page.getByLabel('API key of the service').fill('key-of-the-service')
  await page.getByLabel('Categories that deny').fill('hate, violence')
  await page.getByRole('button', { name: 'Save' }).click()
  await page.getByText('Moderation API').waitFor()
  const settings = { categories: ['hate', 'violence'] }
  expect(await stored()).toMatchObject([{ ...set, ...how, kind: 'moderation', settings }])

  await choose('Delete')
  await page.getByRole('button', { name: 'Delete guardrail' }).click()
  await page.getByText('No guardrails yet.').waitFor()
  expect(await stored()).toEqual([])
  expect(await watch.placesOf(secret)).toEqual(['POST /console/api/guardrails'])
  expect(watch.problems.filter((problem) => !problem.includes('/guardrails 400'))).toEqual([])
  await context.close()
})

describe('the playground', () => {
  const messageOn = (page: Page) => page.getByLabel('Message', { exact: true })

  test('streams two models side by side, with the exact cost of each, and keeps the conversation here', async () => {
    const opened = await openSignedIn('/dashboard', NARROW)
    const { page, watch, context, client, accountId } = opened
    const { secret } = await client.json<CreatedKey>('/console/api/keys', { body: { name: 'playground' } })
    await page.goto(`${stack.url}/playground?model=acme/scribe`)
    await page.getByRole('button', { name: 'Compare' }).click()
    // The search has the focus as soon as the dialog opens.
    await page.getByRole('dialog').waitFor()
    await page.keyboard.type('swift')
    await page.keyboard.press('Enter')
    const prompt = 'How does a hump yard sort its wagons by gravity?'
    await messageOn(page).fill(prompt)
    await messageOn(page).press('Enter')
    const [scribe, swift] = [0, 1].map((lane) => page.locator('.answer').nth(lane))
    await scribe!.locator('.completion-text[data-streaming="true"]').waitFor()
    await scribe!.getByText('Output tokens').waitFor()
    expect(await scribe!.locator('.completion-text').getAttribute('data-streaming')).toBe('false')
    await swift!.getByText('Output tokens').waitFor()
    // 150 ms is how long this model thinks.
    const [, firstToken] = /First token in browser\s*(\d+) ms/.exec(await scribe!.innerText()) ?? []
    expect(Number(firstToken ?? 1_000)).toBeGreaterThanOrEqual(150)
    await stack.settled(accountId)
    const calls = await stack.postgres.callRecord.findMany({ where: { accountId } })
    expect(calls[0]?.labels).toEqual({ title: 'Playground' })
    for (const [lane, model] of [[scribe!, 'acme/scribe'] as const, [swift!, 'acme/swift'] as const]) {
      const charged = calls.find(({ requestedModel }) => requestedModel === model)?.chargePico
      expect(await exactAmount(lane.locator('.money'))).toBe(charged)
      expect(charged).toBeGreaterThan(0n)
    }
    await expectToFit(page)
    await expectAccessible(page)
    // Found again in this browser, and nowhere else.
    await page.reload()
    await page.getByRole('button', { name: 'History' }).click()
    await page.getByRole('button', { name: new RegExp(`^${prompt.slice(0, 20)}`) }).click()
    await page.getByText('Output tokens').nth(1).waitFor()
    for (const hidden of [prompt, secret]) expect(await watch.placesOf(hidden)).toEqual([])
    expect(watch.problems).toEqual([])
    await context.close()
  })

  test('loops through a tool, shows Markdown without loading anything, and takes settings over', async () => {
    const { page, watch, context, client } = await openSignedIn('/dashboard')
    await client.json<CreatedKey>('/console/api/keys', { body: { name: 'playground' } })
    const settings = { ...NO_SETTINGS, models: ['birch/open-leaf'], tools: JSON.stringify([SORT_TOOL]) }
    // As a call that is replayed leaves them.
    const { person } = await client.json<SessionView>('/console/api/session')
    const forms = { [MESSAGE_DRAFT]: { text: '', settings: JSON.stringify(settings) } }
    const drafts = JSON.stringify({ personId: person.id, forms })
    await page.evaluate(`sessionStorage.setItem('shuntyard-drafts', ${JSON.stringify(drafts)})`)
    await page.goto(`${stack.url}/playground`)
    // The settings are open, and the conversation is in sight below them.
    await page.getByRole('region', { name: 'Settings' }).waitFor()
    const place = await page.getByText('Send a message to start.').boundingBox()
    expect(place?.y).toBeLessThan(WIDE.height)
    await messageOn(page).fill('Use sort_wagons, please')
    await messageOn(page).press('Enter')
    await page.getByLabel('Result of sort_wagons').fill('{"sorted":true}')
    await page.getByRole('button', { name: 'Send the result' }).click()
    const answer = page.locator('.answer .completion-text')
    await expect.poll(() => answer.innerText()).toContain('sorted')
    await page.getByRole('button', { name: 'New', exact: true }).click()
    await page.getByRole('button', { name: /^Model/ }).click()
    await page.getByLabel('Search models').fill('birch/mirror')
    await page.keyboard.press('Enter')
    await messageOn(page).fill(MARKDOWN)
    await page.getByRole('button', { name: 'Send' }).click()
    await answer.getByRole('table').waitFor()
    expect(await answer.locator('img, script, style').count()).toBe(0)
    expect(await answer.getByRole('link', { name: 'Image: a train' }).getAttribute('href')).toBe(
      'https://example.com/train.png',
    )
    expect(await answer.getByRole('link').count()).toBe(1)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Code', exact: true }).click()
    await page.getByText(`${stack.url}/v2/chat/completions`).waitFor()
    expect(watch.problems).toEqual([])
    await context.close()
  })
})

const SORT_TOOL = { type: 'function', function: { name: 'sort_wagons', parameters: { type: 'object' } } }
const MARKDOWN = `# Yard

| wagon | track |
|---|---|
| 1 | 2 |

![a train](https://example.com/train.png) <img src="https://example.com/a.png"> [here](/settings) [run](javascript:alert(1))

\`\`\`
points
\`\`\`
`

test.each([
  ['on a desk', WIDE],
  ['on a phone', NARROW],
])('the catalog is searched and filtered %s, and the address keeps it', async (_, viewport) => {
  const { page, watch, context } = await browser.open(stack.url, { viewport })
  const count = page.getByRole('status').getByText(/\d+ models?/)
  const links = page.getByRole('link', { name: /Acme|Leaf|Brittle/ })
  await page.goto(`${stack.url}/models`)
  await count.getByText('6 models').waitFor()
  await page.getByLabel('Search models').fill('acme')
  await count.getByText('2 models').waitFor()
  await page.getByLabel('Search models').fill('')
  await count.getByText('6 models').waitFor()
  for (const name of ['Acme Swift', 'Open Leaf']) await page.getByLabel(`Compare ${name}`).check()
  await page.getByRole('link', { name: 'Compare 2 models' }).click()
  await heading(page, 'Compare models').waitFor()
  await expectToFit(page)
  await page.goBack()
  await count.getByText('6 models').waitFor()
  await page.getByRole('button', { name: 'Clear', exact: true }).click()
  await page.getByRole('radio', { name: 'Price and quality' }).check()
  const chart = page.getByRole('slider', { name: /^Quality by the price of 1,000 calls/ })
  await chart.press('ArrowRight')
  expect(await chart.getAttribute('aria-valuetext')).toMatch(/^acme: \$.*, quality \d+% ± \d+\. A benchmark$/)
  await expectToFit(page)
  await chart.press('Enter')
  await heading(page, 'Acme Swift').waitFor()
  await page.goBack()
  await page.getByRole('radio', { name: 'List' }).check()
  if (viewport === NARROW) await page.getByRole('button', { name: /^Filters/ }).click()
  await page.getByLabel('Open weights').check()
  await count.getByText('1 model', { exact: true }).waitFor()
  expect(await links.allInnerTexts()).toEqual(['Open Leaf'])
  await expectToFit(page)
  await page.reload()
  await count.getByText('1 model', { exact: true }).waitFor()
  await links.first().click()
  await heading(page, 'Open Leaf').waitFor()
  expect(watch.problems).toEqual([])
  await context.close()
})

test('an address already taken is said at its field', async () => {
  const { email } = await signedUp(stack.url)
  const opened = await browser.open(stack.url)
  opened.watch.expectRefusal('POST /console/api/sign-up 409')
  await opened.page.goto(`${stack.url}/sign-up`)
  await opened.page.getByLabel('Email address').fill(email)
  await opened.page.getByLabel('Password').fill(PASSWORD)
  await opened.page.getByRole('button', { name: 'Create account' }).click()
  await opened.page.getByText('An account with this email already exists.').waitFor()
  expect(opened.watch.problems).toEqual([])
  await opened.context.close()
})
