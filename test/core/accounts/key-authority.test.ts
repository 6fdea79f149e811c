import { describe, expect, test } from 'vitest'
import {
  boundedBy,
  changeBounds,
  type KeyAuthority,
  type LimitingSettings,
  type SettingBounds,
  UNLIMITED,
} from '../../../src/core/accounts/key-authority.ts'

const SOON = new Date('2030-01-01')
const LATER = new Date('2031-01-01')

/** Edits one after the other; the fields that were refused, with who set their bounds. */
function edits(...steps: Array<[KeyAuthority, Partial<LimitingSettings>]>) {
  let key = UNLIMITED
  let bounds: SettingBounds = {}
  const refused: string[] = []
  for (const [by, edit] of steps) {
    const change = changeBounds(bounds, key, edit, by)
    if (change.kind === 'refused') refused.push(`${change.field} by ${change.setBy}`)
    else {
      bounds = change.bounds
      key = { ...key, ...edit }
    }
  }
  return { refused, key, boundedBy: boundedBy(bounds, 'creator') }
}

describe('a limit that was set from above', () => {
  test.each<[string, Partial<LimitingSettings>, Partial<LimitingSettings>[], Partial<LimitingSettings>]>([
    [
      'limit_usd',
      { limitPico: 10n, limitReset: 'daily' },
      [
        { limitPico: null, limitReset: 'none' },
        { limitPico: 11n, limitReset: 'daily' },
        { limitReset: 'none' },
      ],
      { limitPico: 9n, limitReset: 'daily' },
    ],
    [
      'expires_at',
      { expiresAt: SOON },
      [{ expiresAt: null }, { expiresAt: LATER }],
      { expiresAt: new Date(1) },
    ],
    [
      'requests_per_minute',
      { customerRequestsPerMinute: 5 },
      [{ customerRequestsPerMinute: null }, { customerRequestsPerMinute: 6 }],
      { customerRequestsPerMinute: 4 },
    ],
    [
      'concurrent_calls',
      { customerConcurrentCalls: 5 },
      [{ customerConcurrentCalls: null }, { customerConcurrentCalls: 6 }],
      { customerConcurrentCalls: 5 },
    ],
    [
      'allowed_models',
      { allowedModels: ['acme/*', 'openai/*', 'other/one'] },
      [{ allowedModels: [] }, { allowedModels: ['acme/a', 'other/two'] }, { allowedModels: ['other/*'] }],
      { allowedModels: ['acme/a', 'gpt-5', 'other/one'] },
    ],
    [
      'allowed_providers',
      { allowedProviders: ['a', 'b'] },
      [{ allowedProviders: [] }, { allowedProviders: ['a', 'c'] }],
      { allowedProviders: ['b'] },
    ],
  ])('may be tightened, not loosened, by those below: %s', (field, bound, looser, tighter) => {
    for (const [above, below] of [
      ['operator', 'manager'],
      ['operator', 'creator'],
      ['manager', 'creator'],
    ] as const) {
      const refused = edits(
        [above, bound],
        ...looser.map((edit) => [below, edit] as [KeyAuthority, typeof edit]),
      )
      expect(refused.refused).toEqual(looser.map(() => `${field} by ${above}`))
      expect(refused.key).toEqual({ ...UNLIMITED, ...bound })
      const allowed = edits([above, bound], [below, tighter], [below, bound], [above, looser[0]!])
      expect(allowed.refused).toEqual([])
      expect(allowed.key).toEqual({ ...UNLIMITED, ...bound, ...looser[0] })
    }
    expect(edits(['creator', bound], ['creator', looser[0]!]).refused).toEqual([])
  })

  test('binds by the narrowest of several, and is replaced by who stands above', () => {
    const both = edits(
      ['operator', { limitPico: 100n }],
      ['manager', { limitPico: 50n }],
      ['creator', { limitPico: 60n }],
      ['creator', { limitPico: 40n }],
      ['manager', { limitPico: 80n }],
      ['creator', { limitPico: 80n }],
    )
    expect(both).toMatchObject({ refused: ['limit_usd by manager'], boundedBy: { limit_usd: 'manager' } })
    const replaced = edits(['manager', { limitPico: 50n }], ['operator', { limitPico: 70n }])
    expect(replaced).toMatchObject({ refused: [], boundedBy: { limit_usd: 'operator' } })
    expect(edits(['operator', { limitPico: 70n }], ['operator', { limitPico: null }]).boundedBy).toEqual({})
  })
})
