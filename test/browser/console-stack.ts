import { randomBytes } from 'node:crypto'
import { vi } from 'vitest'
import { filled } from '../helpers/resources.ts'
import { type StackOptions, startStack, type TestStack } from '../helpers/stack.ts'
import type { TestModels } from '../helpers/test-catalog.ts'
import { BROWSER_START_TIMEOUT_MS, startBrowser, type TestBrowser } from './browser.ts'

/** Rates that no call's cost comes out round at. */
const ODD = { prompt: '0.123457', completion: '1.234567' }

/** A catalog to search and filter, of models that answer as their upstream names say. */
export const CONSOLE_MODELS: TestModels = {
  'acme/swift': {
    offers: [{ at: 'alpha', model: 'words-40', cost: '0.10' }],
    name: 'Acme Swift',
    vendor: 'acme',
    list_price: { prompt: '0.20', completion: '2.00' },
    rate: ODD,
    quality: { other: { value: 0.6, standard_error: 0.05, source: 'A benchmark', date: '2026-06-25' } },
  },
  'acme/scribe': {
    offers: [{ at: 'alpha', model: 'words-60.rate-40.first-token-150', cost: '0.10' }],
    name: 'Acme Scribe',
    vendor: 'acme',
    context_length: 1_000_000,
  },
  'birch/open-leaf': {
    offers: [{ at: 'beta', model: 'words-20', cost: '0.10' }],
    name: 'Open Leaf',
    vendor: 'birch',
    open_weights: true,
    input_modalities: ['text', 'image'],
  },
  'birch/brittle': {
    offers: [{ at: 'gamma', model: 'tag-brittle.status-500', cost: '0.10' }],
    name: 'Brittle',
    vendor: 'birch',
  },
}

const PROVIDER_KEY_NAME = 'BROWSER_TEST_ALPHA_KEY'
/** The key of the gateway at a simulated provider; no page may ever receive it. */
export const PROVIDER_SECRET = `provider-secret-${randomBytes(12).toString('hex')}`

/** A gateway and a browser to look at it with. */
export interface ConsoleStack {
  stack: TestStack
  browser: TestBrowser
  close(): Promise<void>
}

interface ConsoleStackOptions extends Pick<StackOptions, 'models' | 'environment'> {
  browserSwitches?: readonly string[]
}

/** Both, for the tests of a file. */
export function testConsole(
  options: ConsoleStackOptions | (() => ConsoleStackOptions) = {},
): Pick<ConsoleStack, 'stack' | 'browser'> {
  const started = filled(
    () => startConsoleStack(typeof options === 'function' ? options() : options),
    ({ close }) => close(),
    BROWSER_START_TIMEOUT_MS,
  )
  return { stack: filled(async () => started.stack), browser: filled(async () => started.browser) }
}

/** Starts both, or neither. */
export async function startConsoleStack(options: ConsoleStackOptions = {}): Promise<ConsoleStack> {
  const [stack, browser] = await Promise.allSettled([
    startGateway(options),
    startBrowser(options.browserSwitches),
  ])
  const close = async () => {
    if (browser.status === 'fulfilled') await browser.value.close()
    if (stack.status === 'fulfilled') await stack.value.close()
    vi.unstubAllEnvs()
  }
  if (browser.status === 'fulfilled' && stack.status === 'fulfilled')
    return { stack: stack.value, browser: browser.value, close }
  await close()
  throw browser.status === 'rejected' ? browser.reason : (stack as PromiseRejectedResult).reason
}

/** The whole gateway with what the console's pages need: top-ups without money, webhooks to this machine. */
function startGateway({ models = CONSOLE_MODELS, environment }: ConsoleStackOptions): Promise<TestStack> {
  vi.stubEnv(PROVIDER_KEY_NAME, PROVIDER_SECRET)
  return startStack({
    models,
    providerKeyNames: { alpha: PROVIDER_KEY_NAME },
    environment: {
      PAYMENTS_DEVELOPMENT_RAIL: 'true',
      WEBHOOKS_ALLOW_PRIVATE: 'true',
      ...environment,
    },
  })
}
