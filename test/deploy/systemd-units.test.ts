import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { SETTINGS } from '../../src/config.ts'
import { endsWithinMs, launchedWith, ROLES, type Role } from './role-commands.ts'

const FOLDER = new URL('../../deploy/systemd/', import.meta.url)
const FILES = readdirSync(FOLDER)
const FILE_OF: Record<Role, string> = {
  api: 'shuntyard-api.service',
  dispatch: 'shuntyard-dispatch@.service',
  settlement: 'shuntyard-settlement.service',
}

const textOf = (file: string) => readFileSync(new URL(file, FOLDER), 'utf8')
/** The values of each key of a unit, in their order. */
function unitOf(file: string): (key: string) => string[] {
  const lines = textOf(file).split('\n')
  return (key) => lines.filter((line) => line.startsWith(`${key}=`)).map((line) => line.slice(key.length + 1))
}

test.each(ROLES)(
  'the unit of %s starts it as the launcher does, with metrics on a port of its own',
  (role) => {
    const [command = ''] = unitOf(FILE_OF[role])('ExecStart')
    const [before = '', after = ''] = command.split('/usr/bin/node ')
    expect(new Set(after.split(' '))).toEqual(launchedWith(role))
    // The instance of a dispatch worker is its metrics port.
    const prefix = { api: '', dispatch: 'METRICS_PORT=%i', settlement: 'METRICS_PORT=9465' }[role]
    expect(before.trim()).toBe(prefix && `/usr/bin/env ${prefix}`)
  },
)

test.each(ROLES)('the unit of %s migrates first, has its time to end, and is started again', (role) => {
  const unit = unitOf(FILE_OF[role])
  for (const key of ['Requires', 'After']) expect(unit(key)).toContain('shuntyard-migrate.service')
  const graceMs = SETTINGS.find(({ variable }) => variable === 'SHUTDOWN_GRACE_MS')!.default as number
  expect(Number(unit('TimeoutStopSec')[0]) * 1000).toBeGreaterThan(endsWithinMs(graceMs))
  expect(unit('Restart')).toEqual(['always'])
})

test('migrations run once for each start, and do not stay active', () => {
  const unit = unitOf('shuntyard-migrate.service')
  expect(unit('Type')).toEqual(['oneshot'])
  expect(unit('ExecStart')).toEqual(['/usr/bin/node src/cli/migrate.ts'])
  expect(unit('RemainAfterExit')).toEqual([])
})

test.each(FILES)('%s has no root, no capabilities, no secret, and writes to its own folder only', (file) => {
  const unit = unitOf(file)
  const wanted = {
    User: 'shuntyard',
    NoNewPrivileges: 'true',
    CapabilityBoundingSet: '',
    ProtectSystem: 'strict',
    ProtectHome: 'true',
    PrivateTmp: 'true',
    StateDirectory: 'shuntyard',
    EnvironmentFile: '/etc/shuntyard/shuntyard.env',
  }
  for (const [key, value] of Object.entries(wanted)) expect(unit(key), key).toEqual([value])
  expect(unit('ReadWritePaths')).toEqual([])
  expect(unit('Environment').join()).not.toMatch(/KEY|SECRET|_URL/)
})

/** `systemd-analyze` says which keys a unit may have; machines without systemd cannot be asked. */
test('systemd finds nothing wrong with the units, where it is installed', () => {
  if (spawnSync('systemd-analyze', ['--version']).status !== 0) return
  const folder = mkdtempSync(join(tmpdir(), 'shuntyard-units-'))
  try {
    // It looks for the programs too, and Node is elsewhere here.
    for (const file of FILES)
      writeFileSync(join(folder, file), textOf(file).replace('/usr/bin/node', process.execPath))
    const output = execFileSync('systemd-analyze', ['verify', ...FILES.map((file) => join(folder, file))], {
      encoding: 'utf8',
      stdio: 'pipe',
    })
    expect(output).toBe('')
    writeFileSync(join(folder, FILES[0]!), '[Service]\nExecStart=/usr/bin/nowhere\n')
    expect(spawnSync('systemd-analyze', ['verify', join(folder, FILES[0]!)]).stderr.toString()).toMatch(
      /nowhere/,
    )
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
