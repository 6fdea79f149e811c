import { describe, expect, test } from 'vitest'
import {
  REQUEST_CHARS_MAX,
  safeProviderMessage,
  textsOf,
} from '../../../src/core/failover/provider-message.ts'

const SECRET = 'zz-own-key'
const safe = (message: string, request: string[] = []) =>
  safeProviderMessage(message, { secrets: [SECRET], targets: ['large-1', 'api.acme.test'], request })

describe("a provider's message", () => {
  test('stays as it is where it names neither keys nor targets nor the request', () => {
    const message = "Unsupported value: 'temperature' does not support 0.2 with this model."
    expect(safe(message, ['Say hello to the world'])).toBe(message)
  })

  test('loses the key that was sent, keys of known shapes, whole or masked, and long tokens', () => {
    expect(safe(`Key ${SECRET} is wrong`)).toBe('Key [key] is wrong')
    expect(safe('Incorrect API key provided: sk-proj-a1***9z. Find yours in the console.')).toBe(
      'Incorrect API key provided: [key] Find yours in the console.',
    )
    expect(safe('Bad Bearer abcdefgh12 and AIzaSyA123456789')).toBe('Bad [key] and [key]')
    expect(safe('token abcdefghij0123456789klmnop')).toBe('token [key]')
  })

  test('keeps words that contain a short key', () => {
    const by = { secrets: ['e', 'key-1'], targets: [], request: [] }
    expect(safeProviderMessage('The model is overloaded, key-1 has no quota', by)).toBe(
      'The model is overloaded, [key] has no quota',
    )
  })

  test('loses the names of the model and the host', () => {
    expect(safe('large-1 at api.acme.test is overloaded')).toBe('[target] at [target] is overloaded')
    expect(safe('Large-1 does not exist at https://API.acme.test:8443/v1')).toBe(
      '[target] does not exist at https://[target]:8443/v1',
    )
    expect(safe('enlarge-1, large-12 and apiXacme.test')).toBe('enlarge-1, large-12 and apiXacme.test')
  })

  test('loses what it quotes of the request, in quotation marks or as a run of words', () => {
    const request = ['My name is Jane Roe and I live in Smallville', 'blue fox']
    expect(safe('Invalid content "blue fox" in messages', request)).toBe('Invalid content "[…]" in messages')
    expect(safe('Flagged: name is Jane Roe and I live, sorry', request)).toBe('Flagged: […], sorry')
    expect(safe('My name is Jane Roe and I live in Smallville', request)).toBeNull()
  })

  test('loses quotations in scripts without spaces, within JSON, and several of them', () => {
    const request = ['わたしの住所は東京です。', 'ราคาหุ้นวันนี้', 'say "hi" to Bob', 'one two three four five']
    expect(safe('bad input わたしの住所は東京です。 here', request)).toBe('bad input […] here')
    expect(safe('bad input 住所は東京 and ราคาหุ้น', request)).toBe('bad input […] and […]')
    expect(safe('[{"input":{"content":"say \\"hi\\" to Bob"}}]', request)).toBe(
      '[{"input":{"content":"[…]"}}]',
    )
    expect(safe('a one two three four, x: one two three four five c', request)).toBe('a […], x: […] c')
  })

  test('is one line of bounded length', () => {
    expect(safe('one\ntwo\u0000 three')).toBe('one two three')
    expect(safe(`${'word '.repeat(500)}`)!.length).toBeLessThanOrEqual(301)
  })

  test('is dropped where the request is too long to be searched for quotations', () => {
    expect(safe('too long', ['a'.repeat(REQUEST_CHARS_MAX + 1)])).toBeNull()
  })
})

test('the texts of a request are those of all its parts', () => {
  expect(textsOf([{ role: 'user', content: [{ text: 'Hi' }] }, null, 3])).toEqual(['user', 'Hi'])
})
