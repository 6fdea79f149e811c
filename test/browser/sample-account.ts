import { expect } from 'vitest'
import type { TopUpView } from '../../src/core/api/billing.ts'
import type { NewByokKeyBody } from '../../src/core/api/byok-keys.ts'
import type { GuardrailSet } from '../../src/core/api/guardrails.ts'
import type { CreatedKey } from '../../src/core/api/keys.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import type { CreatedWebhook } from '../../src/core/api/webhooks.ts'
import { ask } from '../helpers/chat-client.ts'
import { type ConsoleClient, consoleClient, signedUp } from '../helpers/console-client.ts'
import { eventually } from '../helpers/eventually.ts'
import { filled } from '../helpers/resources.ts'
import type { TestStack } from '../helpers/stack.ts'
import type { TestBrowser, WatchedPage } from './browser.ts'

/** An account with something on every page of it. */
export interface SampleAccount {
  client: ConsoleClient & { email: string }
  accountId: string
  keyId: string
  callId: string
  topUpId: string
  /** What no page may ever receive: secrets that were shown once, what was asked and what was stored. */
  hidden: { key: string; webhookSecret: string; guardrailSecret: string; providerKey: string; prompt: string }
}

/** A sample account for the tests of a file, and a page that is signed in to it. */
export function testSampleAccount({ stack, browser }: { stack: TestStack; browser: TestBrowser }) {
  const sample = filled(() => createSampleAccount(stack))
  const opened = filled(async () => {
    const page = await browser.open(stack.url)
    await lendSession(page, sample.client, stack.url)
    return page
  })
  return { sample, opened }
}

export async function createSampleAccount(stack: TestStack): Promise<SampleAccount> {
  const client = await signedUp(stack.url)
  const { account } = await client.json<SessionView>('/console/api/session')
  const prompt = 'Where does the night mail change its engine?'
  const providerKey = 'own-key-of-the-customer-1f0c9a'
  const topUp = await client.json<TopUpView>('/console/api/top-ups', {
    body: { amount_usd: '25.00', rail: 'development' },
  })
  const key = await client.json<CreatedKey>('/console/api/keys', {
    body: { name: 'night service', limit_usd: '5.00', limit_reset: 'daily' },
  })
  const old = await client.json<CreatedKey>('/console/api/keys', { body: { name: 'old service' } })
  const guardrail = await client.json<GuardrailSet>('/console/api/guardrails', {
    body: { key_id: old.key.id, url: 'http://127.0.0.1:9/guard', may_replace: true },
  })
  await client.json(`/console/api/keys/${old.key.id}/revoke`, { method: 'POST', body: {} })
  const body: NewByokKeyBody = { provider: 'alpha', key: providerKey, allow_fallback: true, name: 'ours' }
  await client.json('/console/api/provider-keys', { body })
  for (const system of ['Be brief.', 'Be brief and kind.'])
    await client.json('/console/api/presets', {
      body: { name: 'support', settings: { model: 'acme/swift', system } },
    })
  // Nobody listens there: its deliveries fail, which a page must show well too.
  const webhook = await client.json<CreatedWebhook>('/console/api/webhooks', {
    body: { url: 'http://127.0.0.1:9/hook', event_types: [] },
  })
  await client.json(`/console/api/webhooks/${webhook.webhook.id}/test`, { method: 'POST', body: {} })
  const call = (model: string) =>
    ask(
      { url: stack.url, key: key.secret },
      { model, messages: [{ role: 'user', content: prompt }], session_id: 'night-mail' },
    )
  // A busy machine refuses some.
  const answered = (model: string) =>
    eventually(async () => {
      const { status, id } = await call(model)
      expect({ model, status }).toEqual({ model, status: 200 })
      return id ?? ''
    })
  const callId = await answered('birch/open-leaf')
  await answered('acme/swift')
  expect((await call('birch/brittle')).status).not.toBe(200)
  await stack.settled(account.id)
  return {
    client,
    accountId: account.id,
    keyId: key.key.id,
    callId,
    topUpId: topUp.payment_id,
    hidden: {
      ...{ key: key.secret, providerKey, prompt },
      ...{ webhookSecret: webhook.secret, guardrailSecret: guardrail.secret ?? '' },
    },
  }
}

/** Gives a browser the session of a client. */
export async function lendSession(
  { context }: WatchedPage,
  client: ConsoleClient,
  url: string,
): Promise<void> {
  await context.addCookies([...client.cookies].map(([name, value]) => ({ name, value, url })))
}

/** Gives a browser the session that an operator begins with an admin key. */
export async function lendOperatorSession(opened: WatchedPage, adminKey: string, url: string): Promise<void> {
  const client = consoleClient(url)
  await client.json('/admin/api/session', { body: { admin_key: adminKey } })
  await lendSession(opened, client, url)
}
