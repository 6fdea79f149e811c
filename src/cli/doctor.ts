import { parseArgs } from 'node:util'
import { type Config, readConfig } from '../config.ts'
import { StartError } from '../core/kernel/errors.ts'
import { openConnections } from '../platform/connections.ts'
import { withTimeout } from '../platform/process/with-timeout.ts'
import {
  type Check,
  type DoctorContext,
  type Finding,
  findings,
  reasonOf,
  warning,
  wrong,
} from './doctor/check.ts'
import { HOST_CHECKS } from './doctor/host-checks.ts'
import { NETWORK_CHECKS } from './doctor/network-checks.ts'
import { POSTGRES_CHECKS } from './doctor/postgres-checks.ts'
import { REDIS_CHECKS } from './doctor/redis-checks.ts'
import { SERVICE_CHECKS } from './doctor/service-checks.ts'
import { driftFrom } from './gateway-file/drift.ts'
import { type CommandOutput, runAsProcess } from './run-command.ts'

const NAME = 'shuntyard-doctor'
const CHECK_WITHIN_MS = 25_000

const CHECKS: Check[] = [
  ...HOST_CHECKS,
  ...REDIS_CHECKS,
  ...POSTGRES_CHECKS,
  ...SERVICE_CHECKS,
  ...NETWORK_CHECKS,
]

type NamedFinding = Finding & { check: string }

/**
 * `npm run doctor [-- --json] [--file FILE]`: checks this host, Redis, PostgreSQL, the services of others and whether the
 * gateway is what a file of `apply` says, and prints what is wrong, what it costs and what mends it. Exits 1 where something is wrong, 0 where there are warnings only. Changes nothing
 * but a key in Redis that expires within a minute.
 */
export async function doctor(args: string[], environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const options = { json: { type: 'boolean' }, file: { type: 'string', short: 'f' } } as const
  const { file } = parseArgs({ args, options }).values
  const found = await examine(environment, file === undefined ? CHECKS : [...CHECKS, fileCheck(file)])
  const count = (level: Finding['level']) => found.filter((each) => each.level === level).length
  const summary = { ok: count('wrong') === 0, wrong: count('wrong'), warnings: count('warning') }
  return {
    data: { ...summary, findings: found },
    text: `${found.map(describe).join('\n')}\n\n${summary.wrong} wrong, ${summary.warnings} warnings`,
    failed: !summary.ok,
  }
}

async function examine(environment: NodeJS.ProcessEnv, checks: Check[]): Promise<NamedFinding[]> {
  let config: Readonly<Config>
  try {
    config = readConfig(environment)
  } catch (error) {
    if (!(error instanceof StartError)) throw error
    const mend = 'correct the settings: docs/operating.md#settings'
    return [{ check: 'settings', ...wrong(error.message.trim(), 'no process starts', mend) }]
  }
  const connections = openConnections(config)
  const { databaseReportsUrl } = config
  const context: DoctorContext = {
    ...{ config, environment },
    redis: connections.redis(NAME, 'fail-fast'),
    postgres: connections.postgres(NAME, { poolSize: 2 }),
    replica:
      databaseReportsUrl === ''
        ? null
        : connections.postgres(NAME, { poolSize: 1, databaseUrl: databaseReportsUrl }),
  }
  try {
    return (await Promise.all(checks.map((check) => findingsOf(check, context)))).flat()
  } finally {
    await connections.close()
  }
}

/** Whether the gateway is what a file says. */
const fileCheck = (file: string): Check => ({
  name: 'gateway file',
  async run({ environment }) {
    const changes = await driftFrom(file, environment)
    return findings(
      changes.map((change) =>
        warning(change, 'the gateway is not what the file says', `npm run apply -- -f ${file}`),
      ),
      'the gateway is what the file says',
    )
  },
})

async function findingsOf({ name, run }: Check, context: DoctorContext): Promise<NamedFinding[]> {
  let reason = 'no result in time'
  const found = await withTimeout<Finding[] | null>(run(context), CHECK_WITHIN_MS, null, (error) => {
    reason = reasonOf(error)
  })
  const failed = () => [
    wrong(
      `the check failed: ${reason}`,
      'it is not known whether this part works',
      'correct that and run doctor again',
    ),
  ]
  return (found ?? failed()).map((finding) => ({ check: name, ...finding }))
}

const MARKS: Record<Finding['level'], string> = { ok: 'ok', warning: 'warning', wrong: 'WRONG' }

function describe({ check, level, found, costs, mend }: NamedFinding): string {
  const more = [costs && `costs: ${costs}`, mend && `mend:  ${mend}`].filter(Boolean)
  return [
    `${MARKS[level].padEnd(8)} ${check.padEnd(22)} ${found}`,
    ...more.map((line) => `${' '.repeat(32)}${line}`),
  ].join('\n')
}

if (import.meta.main) await runAsProcess(doctor)
