import { describe, expect, test } from 'vitest'
import { type ListingState, noteListing } from '../../../src/core/catalog/listing-state.ts'

const OFFERED = ['a', 'b', 'c', 'd']

/** What a row of lists leads to. */
function afterLists(...lists: string[][]) {
  let state: ListingState | null = null
  const verdicts = lists.map((list, index) => {
    const verdict = noteListing(state, OFFERED, new Set(list), index)
    if (verdict.kind === 'noted') state = verdict.state
    return verdict
  })
  return verdicts.at(-1)!
}

describe('an offer', () => {
  test('missing from one list is still used', () => {
    expect(afterLists(['a', 'b', 'c'])).toMatchObject({ kind: 'noted', unlisted: [] })
  })

  test('missing from two lists in a row is not', () => {
    expect(afterLists(['a', 'b', 'c'], ['a', 'b', 'c'])).toMatchObject({ unlisted: ['d'] })
  })

  test('missing, back and missing again was not missing twice in a row', () => {
    expect(afterLists(['a', 'b', 'c'], OFFERED, ['a', 'b', 'c'])).toMatchObject({ unlisted: [] })
  })

  test('that is listed again is used at once', () => {
    expect(afterLists(['a', 'b', 'c'], ['a', 'b', 'c'], OFFERED)).toMatchObject({ unlisted: [] })
  })

  test('of a router is listed by its name without who is to serve it', () => {
    const verdict = noteListing(null, ['v/m:host', 'x', 'y'], new Set(['v/m', 'x', 'y', 'z']), 0)
    expect(verdict).toMatchObject({ kind: 'noted', state: { missing: {}, appeared: ['z'] } })
  })
})

describe('a list', () => {
  test('that lacks more than half of what is offered changes nothing, however often it comes', () => {
    const broken = ['a', 'z']
    expect(afterLists(broken, broken, broken)).toEqual({ kind: 'implausible', missing: 3, offered: 4 })
  })

  test('that is empty is never believed, also where one model is offered', () => {
    expect(noteListing(null, ['a'], new Set(), 0).kind).toBe('implausible')
    expect(noteListing(null, ['a'], new Set(['b']), 0).kind).toBe('noted')
  })

  test('a model list reports new models', () => {
    expect(afterLists([...OFFERED, 'new'])).toMatchObject({ state: { appeared: ['new'], listed: 5 } })
  })
})
