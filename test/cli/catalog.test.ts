import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { catalog as catalogCommand } from '../../src/cli/catalog.ts'
import { runCommand } from '../../src/cli/run-command.ts'
import { startSimulatedProviders } from '../../tools/simulated-providers/start-simulated-providers.ts'
import { exampleDocument } from '../catalog/example-document.ts'
import { spawnCommand } from '../helpers/spawn-command.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'catalog-cli-'))
})
afterEach(() => rm(folder, { recursive: true }))

/** Runs the command with nothing but the given environment, in `folder`. */
async function catalog(args: string[], environment: Record<string, string> = {}) {
  const inFolder = { ...environment, INIT_CWD: folder }
  const { code, out } = await runCommand(catalogCommand, [...args, '--json'], inFolder)
  // biome-ignore lint/suspicious/noExplicitAny: tests look into whatever JSON a command prints.
  return { code, json: JSON.parse(out) as any }
}

test('run as a process, it prints one JSON document and fails by its exit code', async () => {
  await writeFile(join(folder, 'new.json'), JSON.stringify(exampleDocument()))
  const checked = await spawnCommand('catalog', ['import', 'new.json', '--check', '--json'], {}, folder)
  expect(checked).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse(checked.out)).toMatchObject({ models: 1, installed: null })
  const missing = await spawnCommand('catalog', ['show', 'no/such'], {}, folder)
  expect(missing).toMatchObject({ code: 1, out: '', err: expect.stringContaining('no/such') })
})

test('import puts a valid file in the place of CATALOG_FILE, and show shows it', async () => {
  const target = join(folder, 'catalog.json')
  await writeFile(target, '{}')
  await writeFile(join(folder, 'new.json'), JSON.stringify(exampleDocument()))
  const imported = await catalog(['import', 'new.json'], { CATALOG_FILE: target })
  expect(imported).toMatchObject({
    code: 0,
    json: { models: 1, installed: target, keys_missing: ['ACME_API_KEY'] },
  })
  expect(JSON.parse(await readFile(target, 'utf8'))).toEqual(exampleDocument())
  expect((await readdir(folder)).sort()).toEqual(['catalog.json', 'new.json'])

  const environment = { CATALOG_FILE: target, ACME_API_KEY: 'k' }
  expect((await catalog(['show'], environment)).json.data).toHaveLength(1)
  const one = await catalog(['show', 'acme/large-1'], environment)
  expect(one.json).toMatchObject({ id: 'acme/large-1', rate: { prompt: '1.90' } })
  expect((await catalog(['show'], { CATALOG_FILE: target })).json.data).toEqual([])
  expect((await catalog(['show', '--all'], { CATALOG_FILE: target })).json.data).toHaveLength(1)
})

test('import refuses a broken file, names what is wrong, and leaves CATALOG_FILE alone', async () => {
  const target = join(folder, 'catalog.json')
  await writeFile(target, '{}')
  await writeFile(join(folder, 'bad.json'), '{"models": [], "provider": []}')
  const refused = await catalog(['import', 'bad.json'], { CATALOG_FILE: target })
  expect(refused).toMatchObject({
    code: 1,
    json: { problems: [expect.stringContaining('provider: unknown field')] },
  })
  expect(await readFile(target, 'utf8')).toBe('{}')
})

test('import without CATALOG_FILE fails and says so, and --check only checks', async () => {
  await writeFile(join(folder, 'new.json'), JSON.stringify(exampleDocument()))
  expect(await catalog(['import', 'new.json'])).toMatchObject({
    code: 1,
    json: { error: expect.stringContaining('CATALOG_FILE is not set') },
  })
  expect(await catalog(['import', 'new.json', '--check'])).toMatchObject({
    code: 0,
    json: { installed: null },
  })
})

test('a missing model, a missing file and a wrong command fail with a message', async () => {
  for (const [args, expected] of [
    [['show', 'no/such'], 1],
    [['import', 'no-such.json'], 1],
    [['exprot'], 2],
    [['show', '--al'], 2],
  ] as const) {
    const { code, json } = await catalog([...args])
    expect([args, code, typeof json.error]).toEqual([args, expected, 'string'])
  }
})

test('catalog sync prints added and removed models by provider and fails if a provider does not respond', async () => {
  const providers = await startSimulatedProviders()
  const document = exampleDocument()
  document.providers[0]!.base_url = `${providers.url}/alpha/v1`
  const target = join(folder, 'catalog.json')
  await writeFile(target, JSON.stringify(document))
  const environment = { CATALOG_FILE: target, ACME_API_KEY: 'k' }
  const compared = await catalog(['sync'], environment)
  expect(compared.code).toBe(0)
  expect(compared.json.providers).toEqual([
    expect.objectContaining({ provider: 'acme', kind: 'compared', disappeared: ['large-1'] }),
  ])
  expect(compared.json.providers[0].appeared).toContain('sim-echo')
  await providers.close()
  const failed = await catalog(['sync'], environment)
  expect(failed).toMatchObject({ code: 1, json: { providers: [{ kind: 'failed', provider: 'acme' }] } })
})

/** What models.dev and litellm state of gpt-4.1 at its developer, in their forms. */
async function writeLists(prompt: number) {
  const modelsDev = { openai: { models: { 'gpt-4.1': { cost: { input: prompt, output: 8 } } } } }
  const litellm = {
    'gpt-4.1': {
      litellm_provider: 'openai',
      mode: 'chat',
      input_cost_per_token: prompt / 1_000_000,
      output_cost_per_token: 0.000008,
    },
  }
  await writeFile(join(folder, 'models-dev.json'), JSON.stringify(modelsDev))
  await writeFile(join(folder, 'litellm.json'), JSON.stringify(litellm))
  await writeFile(join(folder, 'openrouter.json'), JSON.stringify({ data: [] }))
}

const LISTS = [
  '--models-dev',
  'models-dev.json',
  '--litellm',
  'litellm.json',
  '--openrouter',
  'openrouter.json',
]

test('refresh shows what public lists state otherwise, and changes nothing without --apply', async () => {
  await writeLists(1.5)
  expect(await catalog(['refresh', ...LISTS])).toMatchObject({
    code: 0,
    json: {
      differences: [{ subject: 'gpt-4.1', field: 'list_price', catalog: '2 / 8', agreed: '1.5 / 8' }],
      not_read: [],
      applied: null,
    },
  })
  const { out } = await runCommand(catalogCommand, ['refresh', ...LISTS], { INIT_CWD: folder })
  expect(out).toMatch(/gpt-4\.1 +list_price +2 \/ 8 +1\.5 \/ 8 +models\.dev: 1\.5 \/ 8, litellm: 1\.5 \/ 8/)
  await writeLists(2)
  expect((await catalog(['refresh', ...LISTS])).json.differences).toEqual([])
})

test('refresh continues without one list and says so, and fails with fewer than two', async () => {
  await writeLists(1.5)
  const without = async (first: string, second = 'litellm.json') =>
    catalog(['refresh', '--models-dev', 'models-dev.json', '--openrouter', first, '--litellm', second])
  const refusals = [
    ['http://models.example/list.json', 'is not an https address'],
    ['https://127.0.0.1/list.json', 'is not a public address'],
    ['https://metadata.internal/list.json', 'is not a public address'],
    ['missing.json', 'ENOENT'],
    ['litellm.json', 'not one of openrouter'],
  ] as const
  for (const [location, reason] of refusals) {
    const { code, json } = await without(location)
    expect(code, location).toBe(0)
    expect(json.not_read, location).toEqual([expect.stringContaining(reason)])
    expect(json.differences, location).toHaveLength(1)
  }
  expect(await without('missing.json', 'missing.json')).toMatchObject({
    code: 1,
    json: { error: expect.stringContaining('Two lists have to agree') },
  })
})

test('check calls a provider for at most a cent, and writes what it found', async () => {
  const providers = await startSimulatedProviders()
  onTestFinished(() => providers.close())
  const document = exampleDocument()
  const [model] = document.models
  document.providers[0]!.base_url = `${providers.url}/acme/v1`
  const at = async (upstream: string, price = '1.80') => {
    model!.offers = [
      { provider: 'acme', upstream_model: upstream, cost: { prompt: price, completion: '7.00' } },
    ]
    await writeFile(join(folder, 'catalog.json'), JSON.stringify(document))
    const { code, json } = await catalog(['check', 'acme'], {
      ...{ CATALOG_FILE: join(folder, 'catalog.json'), DATA_DIR: folder, ACME_API_KEY: 'key-of-acme' },
    })
    const findings = json.findings as Array<{ feature: string; result: string; found: string }>
    const results = Object.fromEntries(findings.map(({ feature, result }) => [feature, result]))
    return { code, json, results }
  }
  const good = await at('words-40.auth')
  expect(good.code).toBe(0)
  expect(good.results).toMatchObject({
    ...{ completion: 'ok', usage: 'ok', 'completion limit': 'ok', tools: 'ok', 'JSON schema': 'ok' },
    ...{
      reasoning: 'left out',
      images: 'left out',
      'prompt cache': 'differs',
      'refusal of a key': 'differs',
    },
  })
  expect(Number(good.json.cost_usd)).toBeGreaterThan(0)
  expect(Number(good.json.cost_usd)).toBeLessThan(0.01)
  const name = `acme-${good.json.checked_at.slice(0, 10)}`
  const written = join(folder, 'provider-checks', name)
  expect(JSON.parse(await readFile(`${written}.json`, 'utf8')).findings).toEqual(good.json.findings)
  const exchanges = (await readFile(`${written}.jsonl`, 'utf8')).trim().split('\n')
  expect(exchanges.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ status: 200, text: expect.stringContaining('[DONE]') }),
  )
  expect(exchanges.join()).not.toContain('key-of-acme')

  expect((await at('multibyte.missing-usage')).results).toMatchObject({ completion: 'ok', usage: 'differs' })
  expect(await readFile(`${written}.jsonl`, 'utf8')).toMatch(/[\u{10000}-\u{10ffff}]/u)
  expect(await at('status-500')).toMatchObject({ code: 1, results: { completion: 'fails', tools: 'fails' } })
  const dear = await at('words-40', '90.00')
  expect(dear.results).toMatchObject({ 'prompt cache': 'left out' })
  expect(Number(dear.json.cost_usd)).toBeLessThan(0.01)
})
