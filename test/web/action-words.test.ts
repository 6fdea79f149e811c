import { expect, test } from 'vitest'
import { ACCOUNT_ACTIONS } from '../../src/core/accounts/account-action.ts'
import { actionText, actorText, detailLines } from '../../web/lib/action-words.ts'

test('a change of the catalog is described once, by its effect, with its values behind that', () => {
  const details = {
    effects: 'openai/gpt-5: input $1.25 → $1.10',
    changes: ['changes.models[openai/gpt-5].rate.prompt: 1.25 → 1.10'],
    version: '4',
  }
  expect(detailLines(details)).toEqual({
    lines: ['openai/gpt-5: input $1.25 → $1.10', 'revision: 4'],
    values: ['changes.models[openai/gpt-5].rate.prompt: 1.25 → 1.10'],
  })
  const { effects: _, ...withoutEffects } = details
  expect(detailLines(withoutEffects)).toEqual({ lines: [...details.changes, 'revision: 4'], values: [] })
})

test('older rows stay readable, without what says nothing', () => {
  expect(detailLines({ expected_version: null }).lines).toEqual([])
  expect(detailLines({ expected_version: '3', error: 'conflict' }).lines).toEqual(['error: conflict'])
  expect(detailLines({ requests_per_minute: null, reason: 'fraud?' }).lines).toEqual(['reason: fraud?'])
})

test('actions of operators and members have the same words', () => {
  for (const action of ['key.revoke', 'key.revoked']) expect(actionText(action)).toBe('API key revoked')
  expect(actionText('topup.refund')).toBe('Top-up refunded')
  expect(actionText('organisation.create')).toBe('Organisation created')
  expect(actionText('account.unslow')).toBe('Account slowdown ended')
  expect(actionText('platform-key.store')).toBe('Platform key stored')
  for (const action of ACCOUNT_ACTIONS)
    expect(actionText(action)).toMatch(/^[A-Z][A-Za-z -]+ (\w+ed|set|left)$/)
})

test('an actor is a person with a key, by single sign-on, or on the command line', () => {
  const named = { actor: 'key_1', actor_name: 'Ann', actor_key: 'sk-sy-admi…abcd' }
  expect(actorText(named)).toEqual({ who: 'Ann', by: 'sk-sy-admi…abcd' })
  expect(actorText({ actor: 'op_1', actor_name: 'Bo', actor_key: null })).toEqual({
    who: 'Bo',
    by: 'single sign-on',
  })
  const unnamed = { actor_name: null, actor_key: null }
  expect(actorText({ actor: 'cli:root', ...unnamed })).toEqual({ who: 'root', by: 'command line' })
  expect(actorText({ actor: 'key_gone', ...unnamed })).toEqual({ who: 'key_gone', by: '' })
})
