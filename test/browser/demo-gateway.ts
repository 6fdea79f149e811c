import type { ByokKeyList } from '../../src/core/api/byok-keys.ts'
import type { CreatedKey } from '../../src/core/api/keys.ts'
import type { SessionView } from '../../src/core/api/sessions.ts'
import type { PricingFeed } from '../../src/core/catalog/pricing-feed-view.ts'
import { parseRate } from '../../src/core/kernel/money.ts'
import { startSimulatedProviders } from '../../tools/simulated-providers/start-simulated-providers.ts'
import { ask } from '../helpers/chat-client.ts'
import { type ConsoleClient, consoleClient } from '../helpers/console-client.ts'
import type { TestStack } from '../helpers/stack.ts'
import { startWebhookReceiver } from '../helpers/webhook-receiver.ts'
import { type ConsoleStack, startConsoleStack } from './console-stack.ts'
import { writeDemoHistory } from './demo-history.ts'

const MODELS = [
  'anthropic/claude-sonnet-5',
  'gpt-5',
  'deepseek/deepseek-v4-pro',
  'anthropic/claude-haiku-4.5',
  'anthropic/claude-opus-5',
]
const PROMPT = 'Explain in a few lines how a railway shuntyard sorts wagons.'
const FRESH_CALLS = 40

/** A gateway over the built-in catalog with an account that has used it for a month. */
export interface DemoGateway extends ConsoleStack {
  client: ConsoleClient
  accountId: string
  adminKey: string
  callId: string
}

export async function startDemoGateway(): Promise<DemoGateway> {
  const [simulated, receiver] = await Promise.all([startSimulatedProviders(), startWebhookReceiver()])
  const console = await startConsoleStack({
    // As a reader's browser does.
    browserSwitches: [],
    environment: {
      CATALOG_FILE: '',
      SIMULATE_ALL: 'true',
      SIMULATED_PROVIDERS_URL: simulated.url,
      BREAKER_FAILURES: '3',
    },
  })
  const { stack } = console
  const client = consoleClient(stack.url)
  const body = { email: 'ada@analytical.example', password: 'points and levers' }
  const { account } = await client.json<SessionView>('/console/api/sign-up', { body })
  await client.json('/console/api/top-ups', {
    body: { amount_usd: '50.00', rail: 'development' },
  })
  const keys = await createKeys(client)
  await writeDemoHistory(
    stack,
    account.id,
    keys.map(({ key }) => key.id),
    await demoModels(stack),
  )
  await addProviderKeyAndWebhook(client, receiver.url)
  const callId = await makeCalls(stack, keys[0]?.secret ?? '')
  await stack.settled(account.id)
  const close = async () => {
    await console.close()
    await Promise.all([simulated.close(), receiver.close()])
  }
  return {
    ...console,
    close,
    client,
    accountId: account.id,
    adminKey: await stack.adminKey(),
    callId,
  }
}

async function createKeys(client: ConsoleClient): Promise<CreatedKey[]> {
  const create = (body: Record<string, unknown>) => client.json<CreatedKey>('/console/api/keys', { body })
  const keys = [
    await create({ name: 'checkout-service, production', limit_usd: '100.00', limit_reset: 'monthly' }),
    await create({ name: 'search-service, production', customer_requests_per_minute: 120 }),
    await create({ name: 'notebook', limit_usd: '5.00', limit_reset: 'daily' }),
  ]
  const old = await create({ name: 'prototype' })
  await client.json(`/console/api/keys/${old.key.id}/revoke`, { method: 'POST', body: {} })
  return keys
}

async function demoModels({ url }: TestStack) {
  const { data } = (await (await fetch(`${url}/pricing.json`)).json()) as PricingFeed
  return MODELS.map((id) => {
    const model = data.find((entry) => entry.id === id)
    if (!model) throw new Error(`the catalog has no ${id}`)
    const rate = { prompt: Number(parseRate(model.prompt)), completion: Number(parseRate(model.completion)) }
    // A tenth less than we charge.
    const cost = { prompt: Math.floor(rate.prompt * 0.9), completion: Math.floor(rate.completion * 0.9) }
    return { id, offer: `alpha/${id}`, rate, cost }
  })
}

async function addProviderKeyAndWebhook(client: ConsoleClient, url: string): Promise<void> {
  const { providers } = await client.json<ByokKeyList>('/console/api/provider-keys')
  const provider = providers.find((id) => id === 'groq') ?? providers[0]
  if (provider !== undefined) {
    const body = {
      provider,
      key: 'own-key-of-the-customer-1f0c9a',
      allow_fallback: true,
      name: 'ours',
    }
    await client.json('/console/api/provider-keys', { body })
  }
  const body = { url, event_types: [] }
  const { webhook } = await client.json<{ webhook: { id: string } }>('/console/api/webhooks', { body })
  await client.json(`/console/api/webhooks/${webhook.id}/test`, { method: 'POST', body: {} })
}

/** Calls of this minute, most of them good, for the live stats; returns the id of one. */
async function makeCalls({ url }: TestStack, key: string): Promise<string> {
  const messages = [{ role: 'user', content: PROMPT }]
  const call = (model: string) => ask({ url, key }, { model, messages, session_id: 'timetable' })
  const { id } = await call('anthropic/claude-sonnet-5')
  for (let done = 0; done < FRESH_CALLS; done += MODELS.length) await Promise.all(MODELS.map(call))
  await call('auto')
  if (id === null) throw new Error('the demo call was refused')
  return id
}
