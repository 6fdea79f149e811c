import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'

const SCRIPT = resolve(import.meta.dirname, '../../.ci/results.mjs')
const TODAY = new Date().toISOString().slice(0, 10)

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shuntyard-ci-'))
  mkdirSync(join(folder, '.ci'))
  write('.ci/flaky.json', {})
  write('.ci/durations.json', {})
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const write = (name: string, content: unknown) => writeFileSync(join(folder, name), JSON.stringify(content))
const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8'))

/** Writes a report: file → how its one test ended, and after how many seconds. */
function report(name: string, files: Record<string, { status?: 'passed' | 'failed'; seconds?: number }>) {
  const testResults = Object.entries(files).map(([file, { status = 'passed', seconds = 1 }]) => ({
    name: join(folder, file),
    status,
    startTime: 0,
    endTime: seconds * 1000,
    assertionResults: [{ status, fullName: 'does what it says' }],
  }))
  write(name, { testResults })
}

function run(...args: string[]) {
  const { stdout, status } = spawnSync(process.execPath, [SCRIPT, ...args], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...process.env, CHECK_CODE: '0', TEST_CODE: '0' },
  })
  return { status, stdout, lines: stdout.trimEnd().split('\n') }
}

describe('a file that fails, and passes when it runs again alone', () => {
  beforeEach(() => {
    report('first', { 'a.test.ts': { status: 'failed' }, 'b.test.ts': {} })
    report('second', { 'a.test.ts': {} })
  })

  test('is named, and passes the first time, with the line to commit', () => {
    const { status, stdout, lines } = run('sum', 'first', 'second')
    expect(lines.at(-1)).toBe('2 passed, 0 failed')
    expect(status).toBe(0)
    expect(stdout).toContain('FLAKY: a.test.ts failed')
    expect(lines).toContain(`  "a.test.ts": "${TODAY}"`)
    expect(read('.ci/flaky.json')).toEqual({ 'a.test.ts': TODAY })
  })

  test('fails the second time', () => {
    run('sum', 'first', 'second')
    const { status, lines } = run('sum', 'first', 'second')
    expect(lines.at(-1)).toBe('2 passed, 1 failed')
    expect(status).toBe(1)
  })

  test('passes again when the last time is long ago', () => {
    write('.ci/flaky.json', { 'a.test.ts': '2026-01-01' })
    expect(run('sum', 'first', 'second').lines.at(-1)).toBe('2 passed, 0 failed')
    expect(read('.ci/flaky.json')).toEqual({ 'a.test.ts': TODAY })
  })
})

test('a file that fails again alone counts as failed and is not flaky', () => {
  report('first', { 'a.test.ts': { status: 'failed' }, 'b.test.ts': {} })
  report('second', { 'a.test.ts': { status: 'failed' } })
  expect(run('failed', 'first').lines).toEqual(['a.test.ts'])
  expect(run('sum', 'first', 'second').lines).toEqual(['1 passed, 1 failed'])
  expect(read('.ci/flaky.json')).toEqual({})
})

test('files that took over twice their time at the speed of the run are named, and pass', () => {
  const seconds = (a: number, b: number, c: number) => ({
    'a.test.ts': { seconds: a },
    'b.test.ts': { seconds: b },
    'c.test.ts': { seconds: c },
  })
  report('quiet', seconds(100, 10, 1))
  run('baseline', 'quiet')
  expect(read('.ci/durations.json')).toEqual({ 'a.test.ts': 100, 'b.test.ts': 10, 'c.test.ts': 1 })
  report('twice as slow', seconds(200, 20, 2))
  expect(run('sum', 'twice as slow').lines).toEqual(['3 passed, 0 failed'])
  report('slower b and c', seconds(100, 60, 4))
  expect(run('sum', 'slower b and c').lines).toEqual([
    'slow: b.test.ts took 60 s, 14.8 s at the speed of this run',
    '3 passed, 0 failed',
  ])
})

test('durations are not taken from the report of another clone', () => {
  report('elsewhere', { '../other/a.test.ts': { seconds: 1 } })
  expect(run('baseline', 'elsewhere').status).not.toBe(0)
})
