import { expect, test } from 'vitest'
import type { Offer } from '../../../src/core/catalog/catalog.ts'
import { completionsSource } from '../../../src/core/catalog/completions-source.ts'

const SIMULATED = 'http://127.0.0.1:9100'
const REAL = 'https://api.example.com/v1'

const catalogOf = (...addresses: string[]) => ({
  offers: new Map(
    addresses.map((baseUrl) => [baseUrl, { shared: true, provider: { id: 'x', baseUrl } } as Offer]),
  ),
})

test.each([
  [null, false, [REAL], 'real'],
  [`${SIMULATED}/`, true, [`${SIMULATED}/alpha/v1`], 'simulated'],
  [SIMULATED, false, [`${SIMULATED}/alpha/v1`], 'simulated'],
  [SIMULATED, true, [`${SIMULATED}/alpha/v1`, REAL], 'mixed'],
  // Only models named after the simulated providers are served by them.
  [SIMULATED, false, [`${SIMULATED}/alpha/v1`, REAL], 'real'],
] as const)(
  'with simulated providers at %s, simulating all: %s, offers at %j: %s',
  (url, all, at, expected) => {
    const settings = { simulatedProvidersUrl: url, simulateAll: all }
    expect(completionsSource(settings, catalogOf(...at))).toBe(expected)
  },
)
