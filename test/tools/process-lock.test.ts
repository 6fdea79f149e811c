import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  isRunning,
  processStartTime,
  tryLock,
  waitForLock,
} from '../../tools/launcher/bootstrap/process-lock.mjs'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'shuntyard-lock-'))
  path = join(folder, 'a.lock')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a lock is held by one process at a time and names it', () => {
  const first = tryLock(path)
  expect(first.acquired).toBe(true)
  expect(tryLock(path)).toEqual({ acquired: false, holderPid: process.pid })
})

test('a lock can be taken again after its release', () => {
  const first = tryLock(path)
  if (first.acquired) first.release()
  expect(tryLock(path).acquired).toBe(true)
})

test('a lock is taken over from a holder that was killed', async () => {
  const holder = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  await once(holder, 'spawn')
  writeFileSync(path, `${holder.pid} ${processStartTime(holder.pid ?? 0)}\n`)
  expect(tryLock(path).acquired).toBe(false)
  holder.kill('SIGKILL')
  await once(holder, 'exit')
  expect(tryLock(path).acquired).toBe(true)
})

test('a lock is taken over when its pid belongs to another process', () => {
  writeFileSync(path, `${process.pid} 1\n`)
  expect(tryLock(path).acquired).toBe(true)
})

test('a released lock goes to a waiting process', async () => {
  const first = tryLock(path)
  const waited: number[] = []
  const waiting = waitForLock(path, { onWait: (pid) => waited.push(pid), timeoutMs: 5000 })
  if (first.acquired) first.release()
  const release = await waiting
  release()
  expect(waited).toEqual([process.pid])
})

test('this process is running and an impossible one is not', () => {
  expect(isRunning(process.pid, processStartTime(process.pid))).toBe(true)
  expect(isRunning(2 ** 30, '')).toBe(false)
})
