import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { admin } from '../../src/cli/admin.ts'
import { doctor } from '../../src/cli/doctor.ts'
import { reportDrift } from '../../src/cli/gateway-file/drift.ts'
import { gatewayFile } from '../../src/cli/gateway-file.ts'
import { type CommandResult, runCommand } from '../../src/cli/run-command.ts'
import type { Logger } from '../../src/platform/observability/logger.ts'
import { testLedger, testRedis } from '../helpers/resources.ts'

const FILE = `
settings: { provider_status_public: true }
surfaces: [rerank]
alarms:
  - { name: Ops, kind: slack, target: 'env:OPS_HOOK', minimum_severity: critical }
accounts:
  - account: Acme Rail
    owner: ann@x.test
    requests_per_minute: 600
    spend_cap_usd: '50'
    sign_in: { domain: acme.test, groups: { ml: developer } }
    surfaces: [embeddings]
    members:
      - { email: ann@x.test, role: owner }
      - { email: ben@x.test, role: developer }
    budgets:
      - { scope: tag, value: search, limit_usd: '7' }
      - { scope: tag, tag: team, limit_usd: null, limit_reset: weekly }
      - { scope: project, value: Web, limit_usd: '30.00' }
    keys:
      - { name: ci, limit_usd: '5.00', limit_reset: daily, models: [openai/gpt-5-mini], project: Web }
    guardrails:
      - { url: 'https://guard.example/', secret: 'env:GUARD_KEY', kind: moderation, points: [prompt] }
      - { key: ci, url: 'https://own.example/', may_replace: true }
`

describe('the gateway as a file', () => {
  const ledger = testLedger()
  const redis = testRedis()
  const environment = () => ({
    DATABASE_URL: ledger.url,
    REDIS_URL: redis.url,
    MASTER_KEY: '11'.repeat(32),
    ALARMS_ALLOW_PRIVATE: 'true',
    OPS_HOOK: 'https://hooks.example/T1/abcd',
    GUARD_KEY: 'sk-sy-of-moderation',
  })
  const run = (...args: string[]): Promise<CommandResult> => runCommand(gatewayFile, args, environment())
  const written = async (text: string): Promise<string> => {
    const path = join(await mkdtemp(join(tmpdir(), 'shuntyard-file-')), 'gateway.yaml')
    await writeFile(path, text)
    return path
  }
  const apply = async (text: string, ...options: string[]) =>
    run('apply', '-f', await written(text), ...options)
  const changesOf = ({ out }: CommandResult): string[] =>
    JSON.parse(out).changes.map(({ change }: { change: string }) => change)

  test('a dry run prints what would change, the run makes it, and a second one changes nothing', async () => {
    await runCommand(admin, ['account', 'create', '--email', 'ann@x.test', '--credit', '5.00'], environment())
    const planned = await apply(FILE, '--dry-run', '--json')
    expect(planned.code).toBe(1)
    expect(changesOf(planned)).toEqual([
      'setting provider_status_public: false → true',
      'every account: open rerank',
      'alarms to Ops: new, by slack',
      'Acme Rail: new',
      'Acme Rail: requests_per_minute none → 600, spend_cap_usd none → 50, ' +
        'sign_in none → {"domain":"acme.test","groups":{"ml":"developer"}}',
      'Acme Rail: open embeddings',
      'Acme Rail: invite ben@x.test as developer',
      'Acme Rail: budget of tag team: new',
      'Acme Rail: budget of tag search: new',
      'Acme Rail: budget of project Web: new',
      'Acme Rail: key ci: new',
      'Acme Rail: guardrail: new',
      'Acme Rail: guardrail of ci: new',
    ])
    expect(await ledger.postgres.account.count()).toBe(1)

    const applied = await apply(FILE, '--json')
    expect({ code: applied.code, err: applied.err }).toEqual({ code: 0, err: '' })
    expect(changesOf(applied)).toEqual(changesOf(planned))
    const secrets = JSON.parse(applied.out).changes.map(({ secret }: { secret?: string }) => secret ?? '')
    expect(secrets.slice(-3)).toEqual([
      expect.stringMatching(/^sk-sy-/),
      '',
      expect.stringMatching(/^whsec_/),
    ])
    expect(await apply(FILE)).toEqual({ code: 0, out: 'Nothing to change.\n', err: '' })
    expect((await apply(FILE, '--dry-run')).code).toBe(0)
  })

  test('what it exports is a file that changes nothing, without a secret', async () => {
    const { out, code } = await run('export')
    expect(code).toBe(0)
    expect(parse(out)).toEqual({
      settings: { provider_status_public: true },
      surfaces: ['rerank'],
      alarms: [
        { name: 'Ops', kind: 'slack', minimum_severity: 'critical', enabled: true, target: 'env:OPS' },
      ],
      accounts: [
        {
          ...{ account: 'Acme Rail', requests_per_minute: 600, concurrent_calls: null },
          ...{ spend_cap_usd: '50.00', low_balance_usd: '1.00', surfaces: ['embeddings'] },
          sign_in: { domain: 'acme.test', groups: { ml: 'developer' } },
          members: [{ email: 'ann@x.test', role: 'owner', monthly_budget_usd: null }],
          budgets: [
            { scope: 'project', value: 'Web', tag: null, limit_usd: '30.00', limit_reset: 'monthly' },
            { scope: 'tag', value: null, tag: 'team', limit_usd: null, limit_reset: 'weekly' },
            { scope: 'tag', value: 'search', tag: null, limit_usd: '7.00', limit_reset: 'weekly' },
          ],
          keys: [
            {
              ...{ name: 'ci', limit_usd: '5.00', limit_reset: 'daily', expires_at: null },
              ...{ requests_per_minute: null, concurrent_calls: null },
              ...{ models: ['openai/gpt-5-mini'], providers: [], scopes: [], paused: false, project: 'Web' },
            },
          ],
          guardrails: [
            {
              ...{ key: null, kind: 'moderation', url: 'https://guard.example/', points: ['prompt'] },
              ...{ may_replace: false, timeout_ms: 2_000, on_failure: 'deny', settings: {} },
            },
            {
              ...{ key: 'ci', kind: 'http', url: 'https://own.example/', points: ['prompt', 'completion'] },
              ...{ may_replace: true, timeout_ms: 2_000, on_failure: 'deny', settings: {} },
            },
          ],
        },
      ],
    })
    expect(out).not.toMatch(/sk-sy|whsec|hooks\.example/)
    expect(await apply(out)).toEqual({ code: 0, out: 'Nothing to change.\n', err: '' })
  })

  test('what was changed elsewhere is found, raises an alarm until it is set again', async () => {
    const key = await ledger.postgres.apiKey.findFirstOrThrow({ where: { name: 'ci' } })
    await ledger.postgres.apiKey.update({ where: { id: key.id }, data: { limitPico: 9n * 10n ** 12n } })
    await ledger.postgres.surfaceGrant.deleteMany({ where: { accountId: null } })
    const { out } = await runCommand(doctor, ['--json', '--file', await written(FILE)], environment())
    const { findings } = JSON.parse(out) as { findings: Array<{ check: string; found: string }> }
    const drift = ['every account: open rerank', 'Acme Rail: key ci: limit_usd 9.00 → 5.00']
    expect(findings.filter(({ check }) => check === 'gateway file').map(({ found }) => found)).toEqual(drift)
    const lines: object[] = []
    const logger = { info: (line: object) => lines.push(line), warn: (line: object) => lines.push(line) }
    const report = async () => reportDrift(await written(FILE), environment(), logger as unknown as Logger)
    await report()
    expect(changesOf(await apply(FILE, '--json'))).toEqual(drift)
    await report()
    expect(lines).toEqual([
      { alarm: 'configuration-drift', differences: 2, first: drift[0] },
      { alarmsOver: ['configuration-drift'] },
    ])
    expect((await apply(FILE)).out).toBe('Nothing to change.\n')
  })

  test('a change of an audited service is in the log of operators', async () => {
    const actions = await ledger.postgres.operatorAction.findMany({ where: { outcome: 'asked' } })
    expect(new Set(actions.map(({ action }) => action))).toEqual(
      new Set([
        ...['account.create', 'settings.change', 'surface.open', 'alarm_destination.create'],
        ...['organisation.create', 'account.limits', 'account.spend-cap', 'organisation.invite'],
        ...['key.create', 'key.limits', 'account.budget', 'organisation.sign-in', 'account.guardrail'],
      ]),
    )
  })

  test.each([
    ['surface: [rerank]', 'must NOT have additional properties (surface)'],
    ["accounts: [{ account: Acme Rail, spend_cap_usd: 'much' }]", '/accounts/0/spend_cap_usd'],
    ["alarms: [{ name: X, kind: slack, target: 'env:NOT_SET' }]", 'NOT_SET is not set'],
    ['accounts: [{ account: New Firm }]', '`owner` must be the email of an account'],
    ['catalog: { changes: { models: [{ id: no/such }] } }', 'no/such'],
  ])('%s is refused, and nothing is changed', async (text, problem) => {
    const { code, err } = await apply(text)
    expect(code).toBeGreaterThan(0)
    expect(err).toContain(problem)
    expect((await apply(FILE, '--dry-run')).code).toBe(0)
  })
})
