import { describe, expect, test } from 'vitest'
import { parseCatalogDocument } from '../../src/core/catalog/parse-catalog-document.ts'
import {
  disabledProviders,
  modelChange,
  offerChange,
  rateProblem,
  withModelChange,
  withOfferChange,
  withProviderChange,
} from '../../web/lib/operators/catalog-edits.ts'

const OFFER = { provider: 'acme', upstream_model: 'large-1' }
const RATE = { prompt: '1.00', completion: '4.00' }

describe('edits of the catalog by form', () => {
  test('are documents that the gateway takes', () => {
    const content = withOfferChange(
      withModelChange({}, 'acme/large', { rate: RATE, disabled: true }),
      OFFER,
      {
        disabled: true,
      },
    )
    expect(content).toEqual({
      changes: {
        models: [{ id: 'acme/large', rate: RATE, disabled: true }],
        offers: [{ ...OFFER, disabled: true }],
      },
    })
    expect(parseCatalogDocument(content).kind).toBe('document')
  })

  test('switch a provider off and on again', () => {
    const off = withProviderChange({}, 'acme', { disabled: true })
    expect(off).toEqual({ changes: { providers: [{ id: 'acme', disabled: true }] } })
    expect(disabledProviders(off)).toEqual(['acme'])
    expect(parseCatalogDocument(off).kind).toBe('document')
    expect(withProviderChange(off, 'acme', { disabled: undefined })).toEqual({})
  })

  test('keep everything else, of the same model too', () => {
    const before = {
      dated: '2027-01-31',
      changes: {
        providers: [{ id: 'acme', zdr: true }],
        models: [{ id: 'other' }, { id: 'acme/large', auto: false }],
      },
    }
    expect(withModelChange(before, 'acme/large', { rate: RATE })).toEqual({
      dated: '2027-01-31',
      changes: {
        providers: [{ id: 'acme', zdr: true }],
        models: [{ id: 'other' }, { id: 'acme/large', auto: false, rate: RATE }],
      },
    })
    expect(before.changes.models[1]).toEqual({ id: 'acme/large', auto: false })
  })

  test('keep the priority of an offer that is switched off and on', () => {
    const before = { changes: { offers: [{ ...OFFER, priority: 1 }] } }
    const off = withOfferChange(before, OFFER, { disabled: true })
    expect(off).toEqual({ changes: { offers: [{ ...OFFER, priority: 1, disabled: true }] } })
    expect(withOfferChange(off, OFFER, { disabled: undefined })).toEqual(before)
    expect(parseCatalogDocument(off).kind).toBe('document')
  })

  test('leave nothing behind when they are taken back', () => {
    const changed = withOfferChange({}, OFFER, { disabled: true })
    expect(withOfferChange(changed, OFFER, { disabled: undefined })).toEqual({})
    expect(withModelChange({}, 'acme/large', { rate: undefined })).toEqual({})
  })

  test('are found again, each by its whole name', () => {
    const content = withOfferChange({}, OFFER, { disabled: true })
    expect(offerChange(content, OFFER)).toMatchObject({ disabled: true })
    expect(offerChange(content, { ...OFFER, upstream_model: 'small-1' })).toBeUndefined()
    expect(modelChange(content, 'acme/large')).toBeUndefined()
    expect(modelChange({ changes: 'nonsense' }, 'acme/large')).toBeUndefined()
  })
})

describe('the form of rates', () => {
  test.each([
    ['1.25', true],
    ['0', true],
    ['0.000001', true],
    ['-1', false],
    ['1.0000001', false],
    ['1,25', false],
    ['', false],
  ])('takes the rate %j: %j', (text, isGood) => {
    expect(rateProblem(text) === null).toBe(isGood)
  })
})
