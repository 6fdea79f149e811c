import { describe, expect, test } from 'vitest'
import type { Offer } from '../../../src/core/catalog/catalog.ts'
import { developmentRailRefusal } from '../../../src/core/payments/development-rail-refusal.ts'

const SIMULATED = 'http://127.0.0.1:9100'

/** A catalog with one offer of a provider at an address. */
const catalogOf = (baseUrl: string, shared = true) => ({
  offers: new Map([['x/y', { id: 'x/y', shared, provider: { id: 'x', baseUrl } } as Offer]]),
})

const refusal = (host: string, catalog: ReturnType<typeof catalogOf>, simulatedProvidersUrl?: string) =>
  developmentRailRefusal({ host, simulatedProvidersUrl: simulatedProvidersUrl ?? null }, catalog)

describe('developmentRailRefusal', () => {
  test.each(['127.0.0.1', '127.0.0.9', '::1', 'localhost'])(
    'the rail may be used beside a real provider where only this machine reaches it: %s',
    (host) => {
      expect(refusal(host, catalogOf('https://api.example.com/v1'))).toBeNull()
    },
  )

  test.each(['0.0.0.0', '::', '10.0.0.7'])('it is refused beside a real provider at %s', (host) => {
    expect(refusal(host, catalogOf('https://api.example.com/v1'), SIMULATED)).toContain(`HOST=${host}`)
    expect(refusal(host, catalogOf('https://api.example.com/v1'))).toContain('PAYMENTS_DEVELOPMENT_RAIL')
  })

  test('it may be used anywhere while every shared offer is simulated', () => {
    expect(refusal('0.0.0.0', catalogOf(`${SIMULATED}/sim-one/v1`), `${SIMULATED}/`)).toBeNull()
    expect(refusal('0.0.0.0', catalogOf('https://api.example.com/v1', false), SIMULATED)).toBeNull()
  })
})
