import { describe, expect, test } from 'vitest'
import { providersChosenBy, providersExcludedBy } from '../../../src/core/routing/provider-names.ts'
import { model, offer, provider, snapshot } from '../../helpers/planned-catalog.ts'

const acme = provider('acme', { name: 'Acme Cloud' })
const beta = provider('beta', { name: 'Beta' })
/** Calls itself what another's id is. */
const pretender = provider('zeta', { name: 'ACME' })
const spaced = provider('cafe', { name: 'Café  Réseau ' })
const catalog = snapshot([
  model('m', [offer(acme, 1), offer(beta, 1)]),
  model('n', [offer(pretender, 1), offer(spaced, 1)]),
])

const chosen = (name: string) => [...providersChosenBy(name, catalog)]
const excluded = (...names: string[]) =>
  ['acme', 'beta', 'cafe', 'zeta'].filter((id) => providersExcludedBy(names, catalog).has(id))

describe('the name of a provider', () => {
  test('is its id or its display name, in any case', () => {
    for (const name of ['beta', 'BETA', 'Beta']) expect(chosen(name)).toEqual(['beta'])
    for (const name of ['acme cloud', 'Acme Cloud']) expect(chosen(name)).toEqual(['acme'])
  })

  test('is the same with other white space and the other form of its accents', () => {
    for (const name of ['café réseau', ' CAFÉ\tRÉSEAU', 'Café  Réseau '.normalize('NFD')]) {
      expect(chosen(name)).toEqual(['cafe'])
      expect(excluded(name)).toEqual(['cafe'])
    }
    expect(excluded(' Beta ')).toEqual(['beta'])
  })

  test('chooses nobody and excludes nobody when it is unknown', () => {
    for (const name of ['', 'bet', 'be ta', '__proto__']) {
      expect(chosen(name)).toEqual([])
      expect(excluded(name)).toEqual([])
    }
  })

  test('chooses by id before it chooses by display name, but excludes by both', () => {
    expect(chosen('Acme')).toEqual(['acme'])
    expect(excluded('Acme')).toEqual(['acme', 'zeta'])
    expect(excluded('beta', 'nobody')).toEqual(['beta'])
  })
})
