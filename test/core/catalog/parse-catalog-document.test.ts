import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { CATALOG_DOCUMENT_SCHEMA } from '../../../src/core/catalog/catalog-document.ts'
import { parseCatalogDocument } from '../../../src/core/catalog/parse-catalog-document.ts'
import { exampleDocument } from '../../catalog/example-document.ts'

const problemsOf = (content: unknown) => {
  const result = parseCatalogDocument(content)
  return result.kind === 'problems' ? result.problems : []
}

test("the contract's example is a document", () => {
  expect(parseCatalogDocument(exampleDocument()).kind).toBe('document')
})

test('the published schema is the schema that is enforced', () => {
  const published = readFileSync(new URL('../../../docs/catalog-file.schema.json', import.meta.url), 'utf8')
  expect(JSON.parse(published)).toEqual(JSON.parse(JSON.stringify(CATALOG_DOCUMENT_SCHEMA)))
})

// biome-ignore lint/suspicious/noExplicitAny: each case breaks the document in a way its type forbids.
test.each<[string, (document: any) => void, string]>([
  [
    'an unknown field',
    (d) => (d.models[0].list_price.promt = '1'),
    'models[0].list_price.promt: unknown field',
  ],
  ['a missing field', (d) => delete d.models[0].vendor, 'models[0].vendor: required'],
  [
    'a negative price',
    (d) => (d.models[0].list_price.prompt = '-1'),
    'models[0].list_price.prompt: must be a decimal string of at most six decimals, such as "2.50"',
  ],
  [
    'a price with seven decimals',
    (d) => (d.models[0].list_price.prompt = '0.1234567'),
    'models[0].list_price.prompt: must be a decimal string of at most six decimals, such as "2.50"',
  ],
  [
    'a rate less than 5 % below its list price',
    (d) => (d.models[0].rate = { prompt: '1.90', completion: '7.600001' }),
    'models[0].rate.completion: 7.600001 is not 5 % below the list price 8.00; the highest rate is 7.60',
  ],
  [
    'an edited rate less than 5 % below the list price beside it',
    (d) =>
      (d.changes = {
        models: [
          {
            id: 'x',
            list_price: { prompt: '1', completion: '1' },
            rate: { prompt: '0.951', completion: '0.95' },
          },
        ],
      }),
    'changes.models[0].rate.prompt: 0.951 is not 5 % below the list price 1; the highest rate is 0.95',
  ],
  [
    'a price as a number',
    (d) => (d.models[0].offers[0].cost.prompt = 1.5),
    'models[0].offers[0].cost.prompt: must be string',
  ],
  [
    'an unknown wire',
    (d) => (d.providers[0].wire = 'smoke'),
    'providers[0].wire: must be one of chat-completions, anthropic-messages, google-generate-content, responses, bedrock-converse',
  ],
  [
    'an address with an impossible port',
    (d) => (d.providers[0].base_url = 'http://127.0.0.1:99999/v1'),
    'providers[0].base_url: is not a URL',
  ],
  [
    'an address with a password',
    (d) => (d.providers[0].base_url = 'https://user:secret@example.com/v1'),
    'providers[0].base_url: holds a user or password; keys come from the environment',
  ],
  [
    'an address with a query',
    (d) => (d.providers[0].base_url = 'https://example.com/v1?version=1'),
    'providers[0].base_url: must have no ? or #; a query goes into quirks.path',
  ],
  [
    'a key among the headers, beside which a client brings its own',
    (d) => (d.providers[0].quirks = { headers: { Authorization: 'Bearer x' } }),
    'providers[0].quirks.headers.Authorization: the gateway sets this header itself',
  ],
  [
    'a header that breaks every request',
    (d) => (d.providers[0].quirks = { headers: { 'content-length': '5' } }),
    'providers[0].quirks.headers.content-length: the gateway sets this header itself',
  ],
  [
    'an address of AWS without a region',
    (d) => (d.providers[0].credentials = { kind: 'aws' }),
    'providers[0].credentials.region: required, as base_url names none',
  ],
  [
    'where AWS would exchange a key, which it does not',
    (d) => (d.providers[0].credentials = { kind: 'aws', region: 'eu-west-1', token_url: 'https://x/token' }),
    'providers[0].credentials.token_url: has no meaning for aws',
  ],
  [
    'credentials of an unknown kind',
    (d) => (d.providers[0].credentials = { kind: 'ibm' }),
    'providers[0].credentials.kind: must be one of aws, google, azure',
  ],
  ['the reserved id auto', (d) => (d.models[0].id = 'auto'), 'models[0].id: this id is reserved'],
  [
    'a colon in an id',
    (d) => (d.models[0].id = 'acme/large:1'),
    'models[0].id: must begin with a letter or digit and hold only letters, digits and ._-/@+ (providers: lowercase, no slash)',
  ],
  [
    'a model twice',
    (d) => d.models.push(d.models[0]),
    'models[1]: the model id "acme/large-1" is there already, at models[0]',
  ],
  [
    'a provider twice',
    (d) => d.providers.push(d.providers[0]),
    'providers[1]: the provider id "acme" is there already, at providers[0]',
  ],
  [
    'an offer twice',
    (d) => d.models[0].offers.push(d.models[0].offers[0]),
    'models[0].offers[1]: the offer "acme/large-1" is there already, at models[0].offers[0]',
  ],
  ['a day that is none', (d) => (d.dated = '2026-99-99'), 'dated: is no day'],
])('%s is a problem that names its place', (_what, change, problem) => {
  const document = structuredClone(exampleDocument())
  change(document)
  expect(problemsOf(document)).toEqual([problem])
})

test('every problem is listed, not only the first', () => {
  expect(problemsOf({ providers: [{}], models: 3 })).toEqual([
    'providers[0].id: required',
    'providers[0].base_url: required',
    'models: must be array',
  ])
  expect(problemsOf([])).toEqual(['the document: must be object'])
})
