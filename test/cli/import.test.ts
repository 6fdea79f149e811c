import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { createKeyHasher } from '../../src/accounts/key-hash.ts'
import { createKeyStore } from '../../src/accounts/key-store.ts'
import { fromLitellmConfig } from '../../src/cli/import/from-litellm-config.ts'
import {
  fromLitellmDatabase,
  LITELLM_TABLES,
  type LitellmRows,
} from '../../src/cli/import/from-litellm-database.ts'
import { fromNewApi } from '../../src/cli/import/from-new-api.ts'
import { fromOpenRouter } from '../../src/cli/import/from-openrouter.ts'
import { fromPortkey } from '../../src/cli/import/from-portkey.ts'
import { knownModels } from '../../src/cli/import/known-models.ts'
import type { Note } from '../../src/cli/import/translation.ts'
import { importGateway } from '../../src/cli/import.ts'
import { runCommand } from '../../src/cli/run-command.ts'
import { model, offer, provider, snapshot } from '../helpers/planned-catalog.ts'
import { testLedger, testRedis } from '../helpers/resources.ts'

const CONFIG = `
model_list:
  - model_name: support-bot
    litellm_params: { model: openai/gpt-4o, api_key: os.environ/OPENAI_API_KEY }
router_settings: { routing_strategy: least-busy }
`

const TABLES = `
CREATE TABLE "LiteLLM_BudgetTable" (budget_id text PRIMARY KEY, max_budget float8, budget_duration text);
CREATE TABLE "LiteLLM_UserTable" (user_id text PRIMARY KEY, user_email text, user_role text, max_budget float8,
  spend float8 DEFAULT 0, budget_duration text, metadata jsonb DEFAULT '{}');
CREATE TABLE "LiteLLM_TeamTable" (team_id text PRIMARY KEY, team_alias text, members_with_roles jsonb, max_budget float8,
  spend float8 DEFAULT 0, budget_duration text, models text[], rpm_limit bigint, tpm_limit bigint, blocked boolean DEFAULT false);
CREATE TABLE "LiteLLM_ProjectTable" (project_id text PRIMARY KEY, project_alias text, team_id text, budget_id text,
  models text[] DEFAULT '{}', spend float8 DEFAULT 0);
CREATE TABLE "LiteLLM_TeamMembership" (user_id text, team_id text, budget_id text);
CREATE TABLE "LiteLLM_VerificationToken" (token text PRIMARY KEY, key_name text, key_alias text, spend float8 DEFAULT 0,
  expires timestamp(3), models text[] DEFAULT '{}', user_id text, team_id text, max_parallel_requests int, rpm_limit bigint,
  tpm_limit bigint, max_budget float8, budget_duration text, budget_id text, blocked boolean, project_id text, metadata jsonb DEFAULT '{}');
INSERT INTO "LiteLLM_BudgetTable" VALUES ('b1', 7, '1mo');
INSERT INTO "LiteLLM_UserTable" VALUES ('u1', 'Ann@x.test', 'internal_user', NULL, 0, NULL), ('u2', 'ben@x.test', NULL, 20, 4.5, NULL);
INSERT INTO "LiteLLM_TeamTable" VALUES ('t1', 'Support', '[{"user_id": "u1", "role": "admin"}, {"user_id": "u2", "role": "user"}]',
  100, 0, '30d', '{support-bot}', 600, NULL);
INSERT INTO "LiteLLM_ProjectTable" VALUES ('p1', 'Web', 't1', 'b1', '{gpt-4o}');
INSERT INTO "LiteLLM_TeamMembership" VALUES ('u2', 't1', 'b1');`

const digest = (secret: string) => createHash('sha256').update(secret).digest('hex')

describe('an import from a LiteLLM proxy with its database', () => {
  const ledger = testLedger()
  const redis = testRedis()
  const secrets = ['team', 'own', 'blocked'].map(() => `sk-${randomBytes(16).toString('base64url')}`)
  const masterKey = '11'.repeat(32)
  let config: string
  const run = (...options: string[]) =>
    runCommand(importGateway, ['litellm', config, '--database', ledger.url, ...options], {
      DATABASE_URL: ledger.url,
      REDIS_URL: redis.url,
      MASTER_KEY: masterKey,
    })

  beforeAll(async () => {
    for (const statement of TABLES.split(';').filter((text) => text.trim() !== ''))
      await ledger.postgres.$executeRawUnsafe(statement)
    const [team, own, blocked] = secrets.map(digest)
    await ledger.postgres.$executeRawUnsafe(`INSERT INTO "LiteLLM_VerificationToken"
      (token, key_name, key_alias, spend, team_id, user_id, max_budget, budget_duration, rpm_limit, tpm_limit, blocked, models, project_id)
      VALUES ('${team}', 'sk-...aaaa', 'bot', 3, 't1', NULL, 10, '1d', 60, 5000, NULL, '{all-team-models}', 'p1'),
        ('${own}', 'sk-...bbbb', NULL, 1.25, NULL, 'u2', 5, NULL, NULL, NULL, NULL, '{}', NULL),
        ('${blocked}', 'sk-...cccc', 'old', 0, 't1', NULL, NULL, NULL, NULL, NULL, true, '{}', NULL)`)
    config = join(await mkdtemp(join(tmpdir(), 'shuntyard-import-')), 'config.yaml')
    await writeFile(config, CONFIG)
  })

  test('a dry run says what becomes what and what has no equal, and changes nothing', async () => {
    const { code, out } = await run('--dry-run')
    expect(code).toBe(0)
    expect(out.split('\n')).toEqual(
      expect.arrayContaining([
        '= model support-bot: alias of gpt-4o',
        '~ router_settings.routing_strategy: least-busy: here providers share by price and health; a call may send provider.sort',
        '~ team Support: ben@x.test: budget applies once they have joined: import again then',
        '- key bot: tpm_limit: no equal',
        '~ key old: blocked: is paused',
        '- project Web: models: no equal',
        'catalog aliases[support-bot].models: none → ["gpt-4o"]',
        'ben@x.test: new, with a balance of 15.50',
        'ben@x.test: key sk-...bbbb: new, with the secret it has',
        'Support: requests_per_minute none → 600, spend_cap_usd none → 100.00',
        'Support: invite ben@x.test as developer',
        'Support: budget of project Web: new',
        'Support: key bot: new, with the secret it has',
      ]),
    )
    expect(await ledger.postgres.account.count()).toBe(0)
  })

  test('the keys of its clients work unchanged, with their limits, and a second run changes nothing', async () => {
    const { code, err } = await run('--credit', '25.00')
    expect({ code, err }).toEqual({ code: 0, err: '' })
    const hasher = createKeyHasher([Buffer.from(masterKey, 'hex')])
    const keys = createKeyStore(ledger.postgres, hasher, randomBytes)
    const [team, own, blocked] = await Promise.all(secrets.map((secret) => keys.findBySecret(secret)))
    expect(team).toMatchObject({
      ...{ name: 'bot', limitPico: 10n * 10n ** 12n, limitReset: 'daily', requestsPerMinute: 60 },
      ...{ allowedModels: ['gpt-4o'], accountState: 'active' },
    })
    expect(own).toMatchObject({ limitPico: 3_750_000_000_000n, limitReset: 'none', allowedModels: [] })
    expect(team).toMatchObject({ project: 'Web', pausedAt: null })
    expect(blocked).toMatchObject({ name: 'old', pausedAt: expect.any(Date) })
    const accounts = await ledger.postgres.account.findMany({ orderBy: { balancePico: 'asc' } })
    expect(
      accounts.map(({ email, name, balancePico }) => `${email ?? name} ${balancePico / 10n ** 10n}`),
    ).toEqual([
      'ben@x.test 1550',
      expect.stringMatching(/^(Support|ann@x.test) 2500$/),
      expect.stringMatching(/^(Support|ann@x.test) 2500$/),
    ])
    expect((await run('--credit', '25.00')).out).toContain('Nothing to change.')
    expect((await keys.findBySecret(secrets[0]!))?.id).toBe(team?.id)

    // Since its first use the key is stored under another hash.
    const rename = `UPDATE "LiteLLM_VerificationToken" SET key_alias = 'robot' WHERE key_alias = 'bot'`
    await ledger.postgres.$executeRawUnsafe(rename)
    const renamed = await run('--credit', '25.00')
    expect(renamed.out.trimEnd().split('\n').at(-1)).toBe('Support: key robot: name bot → robot')
    expect(await keys.findBySecret(secrets[0]!)).toMatchObject({ id: team?.id, name: 'robot' })
    await keys.revoke(team!.id, new Date())
    expect((await run('--credit', '25.00')).out).toContain('Nothing to change.')
  })
})

describe('what a source has becomes', () => {
  const gpt = model('gpt-4o', [offer(provider('openai', { apiKeyEnv: 'OPENAI_API_KEY' }), 1, {}, 'gpt-4o')])
  const sonnet = model('anthropic/claude-3.5-sonnet', [
    offer(provider('anthropic'), 1, {}, 'claude-3-5-sonnet-20241022'),
  ])
  const known = knownModels(snapshot([gpt, sonnet]))
  const options = { owner: undefined, credit: undefined, environment: {}, keyNames: ['HOUSE_API_KEY'] }
  const textsOf = (notes: readonly Note[]) => notes.map(({ kind, what, text }) => `${kind} ${what}: ${text}`)

  test('a budget of more than a month in a LiteLLM database a balance, which is said', () => {
    const none = Object.fromEntries(LITELLM_TABLES.map((table) => [table, []])) as unknown as LitellmRows
    const user = { user_id: 'u1', user_email: 'ann@x.test', max_budget: 30, budget_duration: '90d' }
    const rows = { ...none, UserTable: [user] }
    const { accounts, notes } = fromLitellmDatabase(rows, { idsOf: () => [] }, options, 0)
    expect(accounts).toMatchObject([{ account: 'ann@x.test', opening_credit_usd: '30.00' }])
    expect(textsOf(notes)).toEqual(['differs user ann@x.test: max_budget of 90d: is a balance, once'])
  })

  test('weights of deployments that are offers of one model in a LiteLLM config', () => {
    const ours = ['openai', 'azure'].map((id) => offer(provider(id), 1, {}, 'gpt-4o'))
    const list = ['openai', 'azure', 'openai'].map((id, index) => ({
      model_name: index === 2 ? 'twice' : 'gpt',
      litellm_params: { model: `${id}/gpt-4o`, weight: index + 1 },
    }))
    const { catalog, notes } = fromLitellmConfig(
      { model_list: list },
      knownModels(snapshot([model('gpt-4o', ours)])),
      options,
    )
    expect(catalog.changes).toEqual({
      offers: [
        { provider: 'openai', upstream_model: 'gpt-4o', weight: 33.3 },
        { provider: 'azure', upstream_model: 'gpt-4o', weight: 66.7 },
      ],
    })
    expect(textsOf(notes).filter((text) => text.includes('weight'))).toEqual([
      'differs deployment twice (openai/gpt-4o): its weight is left out: providers share by price',
    ])
  })

  test('models, providers of its own, groups and fallbacks of a LiteLLM config', () => {
    const litellm = (model_name: string, litellm_params: object) => ({ model_name, litellm_params })
    const { catalog, notes } = fromLitellmConfig(
      {
        model_list: [
          litellm('gpt-4o', { model: 'gpt-4o' }),
          litellm('smart', {
            model: 'bedrock/eu.anthropic.claude-3-5-sonnet-20240620-v1:0',
            api_key: 'secret-in-file',
          }),
          litellm('house', {
            model: 'openai/llama',
            api_base: 'http://10.0.0.1:8000/v1',
            api_key: 'os.environ/HOUSE_API_KEY',
            input_cost_per_token: 2e-7,
            rpm: 5,
          }),
          litellm('azure', {
            model: 'azure/ours',
            api_base: 'https://ours.example',
            api_key: 'os.environ/AZURE_API_KEY',
          }),
          litellm('lost', { model: 'openai/nothing' }),
          litellm('groq/*', { model: 'groq/*' }),
        ],
        router_settings: {
          model_group_alias: { cheap: 'house' },
          fallbacks: [{ smart: ['gpt-4o', 'none'] }],
        },
        litellm_settings: { cache: true },
      },
      known,
      options,
    )
    expect(catalog.aliases).toEqual([
      { id: 'smart', models: ['anthropic/claude-3.5-sonnet', 'gpt-4o'] },
      { id: 'house', models: ['10.0.0.1-8000/llama'] },
      { id: 'cheap', models: ['10.0.0.1-8000/llama'] },
    ])
    expect(catalog.providers).toEqual([
      {
        id: '10.0.0.1-8000',
        name: '10.0.0.1:8000',
        base_url: 'http://10.0.0.1:8000/v1',
        api_key_env: 'HOUSE_API_KEY',
      },
    ])
    expect(catalog.models).toMatchObject([
      {
        id: '10.0.0.1-8000/llama',
        list_price: { prompt: '0.2', completion: '0' },
        offers: [{ upstream_model: 'llama' }],
      },
    ])
    expect(textsOf(notes)).toEqual(
      expect.arrayContaining([
        'same model gpt-4o: is a model of the catalog',
        'differs deployment smart (bedrock/eu.anthropic.claude-3-5-sonnet-20240620-v1:0): anthropic/claude-3.5-sonnet by other providers: bedrock is not in the catalog',
        'lost deployment azure (azure/ours at ours.example): set its key as AZURE_API_KEY, name that in CATALOG_KEY_NAMES, and import again',
        'lost deployment lost (openai/nothing): the catalog has no such model; add it with its price',
        'lost deployment house (openai/llama): rpm: no equal',
        'lost fallback smart → none: no such model',
        'lost litellm_settings.cache: true: no equal in the catalog',
        'differs deployment groq/*: every model of the catalog is called by its id',
      ]),
    )
    expect(JSON.stringify([catalog, notes])).not.toContain('secret-in-file')
  })

  test('users with balances, plain keys and channels of new-api', () => {
    const { catalog, accounts, notes } = fromNewApi(
      {
        users: [
          { id: 1, username: 'root', email: 'Ann@x.test', role: 100, status: 1, quota: 2_500_000 },
          { id: 2, username: 'ben', email: '', role: 1, status: 1 },
        ],
        tokens: [
          {
            id: 5,
            user_id: 1,
            key: 'k'.repeat(48),
            status: 1,
            name: 'web',
            expired_time: -1,
            unlimited_quota: false,
            remain_quota: 500_000,
            model_limits_enabled: true,
            model_limits: 'our-gpt,unknown',
          },
          {
            id: 6,
            user_id: 2,
            key: 'l'.repeat(48),
            status: 1,
            name: 'ben',
            expired_time: -1,
            unlimited_quota: true,
          },
          {
            id: 7,
            user_id: 1,
            key: 'm'.repeat(48),
            status: 1,
            name: 'past',
            expired_time: 1,
            unlimited_quota: true,
          },
        ],
        channels: [
          {
            id: 1,
            type: 1,
            name: 'main',
            status: 1,
            models: 'our-gpt',
            model_mapping: '{"our-gpt": "gpt-4o"}',
            priority: 3,
          },
          { id: 2, type: 99, name: 'odd', status: 1, models: 'x' },
        ],
      },
      known,
      options,
      1_700_000_000_000,
    )
    expect(catalog).toEqual({ aliases: [{ id: 'our-gpt', models: ['gpt-4o'] }] })
    expect(accounts).toEqual([
      {
        ...{ account: 'ann@x.test', opening_credit_usd: '5.00' },
        keys: [
          {
            ...{ name: 'web', sha256: digest(`sk-${'k'.repeat(48)}`), expires_at: null, limit_usd: '1.00' },
            models: ['gpt-4o', 'unknown'],
          },
        ],
      },
    ])
    expect(textsOf(notes)).toEqual(
      expect.arrayContaining([
        'lost user ann@x.test: an administrator: npm run admin -- operator add',
        'lost user ben: has no email; its keys go to --owner',
        'lost key ben: belongs to no account here: import again with --owner EMAIL',
        'lost key past: expired: left out',
        'lost channel odd: type 99 is not known here',
        'lost channel main: priority: no equal',
      ]),
    )
  })

  test('models, suffixes and presets that requests to OpenRouter name', () => {
    const { catalog, notes } = fromOpenRouter(
      [
        { model: 'anthropic/claude-3-5-sonnet:online', preset: 'mail' },
        { body: { models: ['openai/gpt-4o:floor', 'openrouter/auto'], transforms: [] } },
      ],
      known,
      options,
    )
    expect(catalog.aliases).toEqual([
      { id: 'anthropic/claude-3-5-sonnet', models: ['anthropic/claude-3.5-sonnet'] },
      { id: 'openai/gpt-4o', models: ['gpt-4o'] },
    ])
    expect(textsOf(notes)).toEqual(
      expect.arrayContaining([
        'lost model anthropic/claude-3-5-sonnet:online: no suffix :online; ask for anthropic/claude-3-5-sonnet',
        'differs model openrouter/auto: ask for auto',
        'differs preset mail: a log has no settings: save it as @preset/mail in the console',
        'lost field transforms: is not read here',
      ]),
    )
  })

  test('targets of Portkey configs', () => {
    const { catalog, notes } = fromPortkey(
      [
        {
          slug: 'pc-main',
          config: {
            strategy: { mode: 'fallback', on_status_codes: [429] },
            targets: [
              { provider: '@openai-prod', override_params: { model: 'gpt-4o', temperature: 0 } },
              { override_params: { model: '@anthropic/claude-3-5-sonnet-20241022' } },
            ],
            cache: { mode: 'simple' },
          },
        },
        { slug: 'pc-retries', config: { retry: { attempts: 3 } } },
      ],
      known,
      options,
    )
    expect(catalog.aliases).toEqual([{ id: 'pc-main', models: ['gpt-4o', 'anthropic/claude-3.5-sonnet'] }])
    expect(textsOf(notes)).toEqual(
      expect.arrayContaining([
        'lost config pc-main: cache: no equal',
        'lost config pc-main: override_params temperature: a preset sets these',
        'lost config pc-retries: names no model: clients send theirs as before',
      ]),
    )
  })
})
