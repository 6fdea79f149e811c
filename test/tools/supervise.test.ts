import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isRunning } from '../../tools/launcher/bootstrap/process-lock.mjs'
import { type ProcessGuard, startProcessGuard } from '../../tools/launcher/processes/process-guard.ts'
import type { ProcessPlan } from '../../tools/launcher/processes/spawn-plan.ts'
import { spawnPlan } from '../../tools/launcher/processes/spawn-plan.ts'
import { type Supervised, supervise } from '../../tools/launcher/processes/supervise.ts'
import { eventually } from '../helpers/eventually.ts'

let folder: string
let guard: ProcessGuard
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shuntyard-supervise-'))
  guard = startProcessGuard()
})
afterEach(() => {
  guard.close()
  rmSync(folder, { recursive: true, force: true })
})

/** A process that writes down its pid and then waits. */
function plan(script = 'echo $$ > pid; exec sleep 60'): ProcessPlan {
  return {
    name: 'sleeper',
    command: 'sh',
    args: ['-c', script],
    cwd: folder,
    env: { PATH: process.env.PATH },
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 500,
    readyTimeoutMs: 5000,
    probe: async () => void pidWritten(),
  }
}

const pidWritten = () => {
  const pid = Number(readFileSync(join(folder, 'pid'), 'utf8'))
  if (!pid) throw new Error('not yet')
  return pid
}

function start(of: ProcessPlan): { supervised: Supervised; log: string[] } {
  const log: string[] = []
  const options = {
    guard,
    rank: 'sessions',
    onOutput: () => undefined,
    log: (line: string) => void log.push(line),
  } as const
  return { supervised: supervise(of, options), log }
}

test('a process that is killed is started again, and both are logged', async () => {
  const { supervised, log } = start(plan())
  await supervised.ready
  const first = pidWritten()
  process.kill(first, 'SIGKILL')
  await eventually(() =>
    expect(log).toEqual([expect.stringContaining('killed by SIGKILL'), 'sleeper is back']),
  )
  await eventually(() => expect(pidWritten()).not.toBe(first))
  await supervised.stop()
})

test('a stopped process has ended and stays ended', async () => {
  const { supervised, log } = start(plan())
  await supervised.ready
  await supervised.stop()
  expect(isRunning(pidWritten(), '')).toBe(false)
  expect(log).toEqual([])
})

test('a process that ignores the request to stop is killed at its limit', async () => {
  const { supervised } = start(plan("trap '' TERM; echo $$ > pid; while :; do sleep 0.1; done"))
  await supervised.ready
  await supervised.stop()
  expect(isRunning(pidWritten(), '')).toBe(false)
})

test('a first start that fails is reported with what the process wrote', async () => {
  const { supervised } = start(plan('echo the reason >&2; exit 3'))
  await expect(supervised.ready).rejects.toThrow(/exit code 3[\s\S]*the reason/)
})

test('a process can be stopped in the middle of its start', async () => {
  const { supervised } = start({ ...plan(), probe: () => Promise.reject(new Error('never')) })
  const failed = expect(supervised.ready).rejects.toThrow()
  await eventually(() => pidWritten())
  await supervised.stop()
  await failed
  expect(isRunning(pidWritten(), '')).toBe(false)
})

test('a process that does not serve in time is ended, with what it started', async () => {
  const never = { readyTimeoutMs: 300, probe: () => Promise.reject(new Error('the reason')) }
  const running = spawnPlan({ ...plan('sleep 60 & echo $! > pid; wait'), ...never })
  await expect(running).rejects.toThrow('sleeper was not ready within 0.3 s: the reason')
  await eventually(() => expect(isRunning(pidWritten(), '')).toBe(false))
})

test('a process that fails is reported although one that it started keeps its output open', async () => {
  const running = spawnPlan(plan('sleep 60 & echo $! > other; echo the reason >&2; exit 3'))
  await expect(running).rejects.toThrow(/exit code 3[\s\S]*the reason/)
  const other = Number(readFileSync(join(folder, 'other'), 'utf8'))
  await eventually(() => expect(isRunning(other, '')).toBe(false))
})

test('a probe that never returns does not hold up the end of the start', async () => {
  const running = spawnPlan({ ...plan(), readyTimeoutMs: 300, probe: () => new Promise(() => undefined) })
  await expect(running).rejects.toThrow('sleeper was not ready')
  expect(isRunning(pidWritten(), '')).toBe(false)
})
