import { afterEach, beforeEach, expect, test, vi } from 'vitest'

const ANN = 'acc_ann'
let stored: Map<string, string>

/** The module as a page loads it. */
async function load() {
  vi.resetModules()
  vi.stubGlobal('sessionStorage', {
    getItem: (name: string) => stored.get(name) ?? null,
    setItem: (name: string, value: string) => void stored.set(name, value),
    removeItem: (name: string) => void stored.delete(name),
  })
  return import('../../web/lib/form-drafts.ts')
}

beforeEach(() => {
  stored = new Map()
})
afterEach(() => vi.unstubAllGlobals())

/** Ann's session ends while a form is on screen. */
async function endSession(typed: Record<string, string>) {
  const drafts = await load()
  drafts.noteDraftOwner(ANN)
  drafts.openForm('Create API key', typed)
  drafts.noteDraftOwner(null)
  return drafts
}

test('what was typed is kept for the same person and form', async () => {
  const drafts = await endSession({ name: 'checkout' })
  expect(drafts.hasKeptDrafts()).toBe(true)
  expect(drafts.readDraft('Create API key')).toEqual({})
  drafts.noteDraftOwner(ANN)
  expect(drafts.readDraft('Create API key')).toEqual({ name: 'checkout' })
  expect(drafts.readDraft('Another form')).toEqual({})
  const reloaded = await load()
  reloaded.noteDraftOwner(ANN)
  expect(reloaded.readDraft('Create API key')).toEqual({ name: 'checkout' })
})

test('secrets are never stored', async () => {
  const secrets = ['password', 'current_password', 'new_password', 'key', 'admin_key', 'code', 'url']
  await endSession({ name: 'checkout', ...Object.fromEntries(secrets.map((name) => [name, 'S3cret'])) })
  expect([...stored.values()].join()).toContain('checkout')
  expect([...stored.values()].join()).not.toContain('S3cret')
})

test('nothing is kept of forms that were closed or not typed into', async () => {
  const drafts = await endSession({})
  expect(drafts.hasKeptDrafts()).toBe(false)
  drafts.noteDraftOwner(ANN)
  drafts.openForm('Create API key', { name: 'checkout' })()
  drafts.noteDraftOwner(null)
  expect(stored.size).toBe(0)
})

test('another person and a sign-out drop it', async () => {
  const drafts = await endSession({ name: 'checkout' })
  drafts.noteDraftOwner('acc_bob')
  expect(stored.size).toBe(0)
  const again = await endSession({ name: 'checkout' })
  again.dropDrafts()
  expect(stored.size).toBe(0)
})
