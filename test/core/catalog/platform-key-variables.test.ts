import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readConfig } from '../../../src/config.ts'
import { parseCatalogDocument } from '../../../src/core/catalog/parse-catalog-document.ts'
import {
  isPlatformKeyVariable,
  keyAddressProblems,
} from '../../../src/core/catalog/platform-key-variables.ts'
import { exampleDocument } from '../../catalog/example-document.ts'
import { builtCatalog } from '../../helpers/built-catalog.ts'

/** Every variable that the configuration looks at. */
function configurationNames(): string[] {
  const read = new Set<string>()
  const environment = new Proxy({} as Record<string, string | undefined>, {
    get(_target, name) {
      read.add(String(name))
      return undefined
    },
  })
  expect(() => readConfig(environment)).toThrow()
  return [...read]
}

test('no variable that the configuration reads can be named as the key of a provider', () => {
  const names = configurationNames()
  expect(names).toEqual(expect.arrayContaining(['MASTER_KEY', 'DATABASE_URL', 'STRIPE_SECRET_KEY']))
  expect(names.filter(isPlatformKeyVariable)).toEqual([])
  for (const name of ['OPENAI_API_KEY', 'HF_TOKEN', 'ACME_KEY'])
    expect(isPlatformKeyVariable(name)).toBe(true)
})

test('no secret of its clients for buckets and traces can be named, nor another variable that compose sets', () => {
  const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
  const shipped = ['builtin.json', 'task-models.json'].map((file) => read(`src/catalog/data/${file}`)).join()
  const set = Array.from(read('docker-compose.yml').matchAll(/^ +([A-Z][A-Z0-9_]+):/gm), ([, name]) => name!)
  const own = [
    ...set.filter((name) => !shipped.includes(`"${name}"`)),
    'AWS_CONTAINER_AUTHORIZATION_TOKEN',
    'OTEL_EXPORTER_OTLP_CLIENT_KEY',
  ]
  expect(own).toEqual(expect.arrayContaining(['AWS_SECRET_ACCESS_KEY', 'AWS_SESSION_TOKEN']))
  expect(own.filter(isPlatformKeyVariable)).toEqual([])
})

test('a document that names one is refused', () => {
  const [provider] = exampleDocument().providers
  const document = { ...exampleDocument(), providers: [{ ...provider, api_key_env: 'MASTER_KEY' }] }
  expect(parseCatalogDocument(document)).toEqual({
    kind: 'problems',
    problems: [expect.stringMatching(/^providers\[0\]\.api_key_env: /)],
  })
})

test('an edit may send a key to no other address, of chats or of other tasks', () => {
  const snapshotOf = (provider: object) => {
    const document = exampleDocument()
    document.providers[0] = { ...document.providers[0]!, ...provider }
    return builtCatalog([document])
  }
  const before = snapshotOf({ api_key_env: 'ACME_API_KEY' })
  const after = (provider: object) => snapshotOf({ api_key_env: 'ACME_API_KEY', ...provider })
  expect(keyAddressProblems(before, after({}), [])).toEqual([])
  for (const moved of [
    { base_url: 'https://evil.test/v1' },
    { quirks: { task_urls: { embeddings: 'https://evil.test/embeddings' } } },
    { credentials: { kind: 'azure', token_url: 'https://evil.test/{tenant}/token' } },
  ]) {
    const [problem, ...others] = keyAddressProblems(before, after(moved), [])
    expect(problem).toContain('may not send ACME_API_KEY to https://evil.test')
    expect(others).toEqual([])
    expect(keyAddressProblems(before, after(moved), ['ACME_API_KEY'])).toEqual([])
  }
})

test("an edit may send the machine's identity to no address either", () => {
  const snapshotOf = (provider: object) => {
    const document = exampleDocument()
    Object.assign(document.providers[0]!, { api_key_env: null, ...provider })
    return builtCatalog([document])
  }
  const vertex = {
    base_url: 'https://europe-west1-aiplatform.googleapis.com/v1',
    credentials: { kind: 'google' },
  }
  const evil = { ...vertex, base_url: 'https://evil.test/v1' }
  expect(keyAddressProblems(snapshotOf(vertex), snapshotOf(vertex), [])).toEqual([])
  expect(keyAddressProblems(snapshotOf(vertex), snapshotOf(evil), [])).toEqual([
    expect.stringContaining("may not send the machine's identity (google) to https://evil.test"),
  ])
  expect(keyAddressProblems(snapshotOf({}), snapshotOf(vertex), [])).toHaveLength(1)
})
