import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { CatalogOverlay, OverlayPlatformKey } from '../../src/catalog/catalog-overlay.ts'
import {
  createPlatformKeys,
  isUsableWith,
  PLATFORM_KEY_PURPOSE,
  platformKeyContext,
} from '../../src/catalog/platform-keys.ts'
import type { Provider } from '../../src/core/catalog/catalog.ts'
import { createSealer } from '../../src/platform/sealing.ts'

const masterKey = randomBytes(32)
const ACME: Provider = {
  id: 'acme',
  name: 'Acme',
  wire: 'chat-completions',
  baseUrl: 'https://api.acme.test/v1',
  apiKeyEnv: 'ACME_API_KEY',
  zdr: false,
  dataCollection: 'allow',
  limitParameter: 'max_tokens',
}

function keyFor(providerId: string, origins: string[], secret: string): OverlayPlatformKey {
  const secretSealed = createSealer([masterKey], PLATFORM_KEY_PURPOSE).seal(
    secret,
    platformKeyContext(providerId, origins),
  )
  return {
    providerId,
    origins,
    secretSealed,
    last4: '',
    author: 'key_1',
    createdAt: '2026-01-01T00:00:00.000Z',
  }
}

function keysWith(stored: OverlayPlatformKey[], environment: Record<string, string> = {}, key = masterKey) {
  const alarms: object[] = []
  const current: CatalogOverlay = {
    version: '1',
    stored: null,
    prices: [],
    unlisted: [],
    ownTokens: {},
    platformKeys: stored,
  }
  const keys = createPlatformKeys({
    environment,
    overlay: { current: () => current },
    masterKeys: [key],
    logger: { error: (fields) => void alarms.push(fields) },
  })
  return { keys, alarms }
}

const ORIGINS = ['https://api.acme.test']

test('a stored key comes before that of the environment', () => {
  const { keys } = keysWith([keyFor('acme', ORIGINS, 'stored')], { ACME_API_KEY: ' environment ' })
  expect(keys.find(ACME)).toMatchObject({ source: 'stored', secret: 'stored' })
  expect(keys.find({ ...ACME, id: 'other' })).toMatchObject({ source: 'environment', secret: 'environment' })
  expect(keys.find({ ...ACME, apiKeyEnv: null })).toBeNull()
})

test('further keys join the main one, in the order of their creation, and get calls while they are active', () => {
  const second = { ...keyFor('acme', ORIGINS, 'second'), id: 'plat_2', weight: 3 }
  const third = { ...keyFor('acme', ORIGINS, 'third'), id: 'plat_3', state: 'draining' as const }
  const { keys } = keysWith([second, third], { ACME_API_KEY: 'environment' })
  expect(keys.pool(ACME).map(({ id, secret, weight }) => [id, secret, weight])).toEqual([
    ['main', 'environment', 1],
    ['plat_2', 'second', 3],
  ])
  expect(keys.pool(ACME)).toBe(keys.pool(ACME))
  expect(keys.all(ACME).map(({ secret }) => secret)).toEqual(['environment', 'second', 'third'])
  const settings = {
    ...keyFor('acme', ORIGINS, ''),
    secretSealed: '',
    id: 'main',
    state: 'disabled' as const,
  }
  const drained = keysWith([settings, second], { ACME_API_KEY: 'environment' })
  expect(drained.keys.find(ACME)?.secret).toBe('second')
})

test('a provider is usable with a key, or without one if it needs none', () => {
  const isUsable = isUsableWith(keysWith([], { BLANK_KEY: '  ' }).keys)
  expect(isUsable(ACME)).toBe(false)
  expect(isUsable({ ...ACME, apiKeyEnv: 'BLANK_KEY' })).toBe(false)
  expect(isUsable({ ...ACME, apiKeyEnv: null })).toBe(true)
  expect(isUsableWith(keysWith([keyFor('acme', ORIGINS, 'stored')]).keys)(ACME)).toBe(true)
})

test('a stored key is not sent to another address, wherever the catalog moves its provider', () => {
  const { keys } = keysWith([keyFor('acme', ORIGINS, 'stored')])
  expect(keys.find({ ...ACME, baseUrl: 'https://api.acme.test/v2' })?.secret).toBe('stored')
  expect(keys.find({ ...ACME, baseUrl: 'https://evil.test/v1' })).toBeNull()
  const taskUrls = { embeddings: 'https://evil.test/embeddings' }
  expect(keys.find({ ...ACME, quirks: { taskUrls } })).toBeNull()
})

test('a key that does not open raises one alarm and counts as absent', () => {
  const sealed = keyFor('acme', ORIGINS, 'stored')
  const { keys, alarms } = keysWith([sealed], { ACME_API_KEY: 'environment' }, randomBytes(32))
  expect(keys.find(ACME)?.source).toBe('environment')
  expect(keys.find(ACME)?.source).toBe('environment')
  expect(alarms).toEqual([expect.objectContaining({ alarm: 'provider-key-sealed', providerId: 'acme' })])
  const moved = keysWith([{ ...sealed, origins: ['https://evil.test'] }])
  expect(moved.keys.find({ ...ACME, baseUrl: 'https://evil.test' })).toBeNull()
})
