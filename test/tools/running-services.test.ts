import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import {
  dataDirectory,
  findRunningServices,
  removeRunningServices,
  runtimeFile,
  writeRunningServices,
} from '../../tools/launcher/bootstrap/running-services.mjs'

let dataDir: string
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'shuntyard-runtime-'))
})
afterEach(() => rmSync(dataDir, { recursive: true, force: true }))

test('running services are found while the start that recorded them runs', () => {
  writeRunningServices(dataDir, { REDIS_URL: 'redis://127.0.0.1:1' })
  expect(findRunningServices(dataDir)?.environment).toEqual({ REDIS_URL: 'redis://127.0.0.1:1' })
})

test('the file of running services is readable by its owner alone', () => {
  writeRunningServices(dataDir, {})
  expect(statSync(runtimeFile(dataDir)).mode & 0o777).toBe(0o600)
})

test('running services are not found after a stop, nor after the start was killed', () => {
  writeRunningServices(dataDir, {})
  removeRunningServices(dataDir)
  expect(findRunningServices(dataDir)).toBeNull()
  writeFileSync(runtimeFile(dataDir), JSON.stringify({ pid: 2 ** 30, startTime: '1', environment: {} }))
  expect(findRunningServices(dataDir)).toBeNull()
})

test('the data folder is DATA_DIR, or .data of the clone', () => {
  expect(dataDirectory('/clone', {})).toBe('/clone/.data')
  expect(dataDirectory('/clone', { DATA_DIR: '/elsewhere' })).toBe('/elsewhere')
  expect(dataDirectory('/clone', { DATA_DIR: 'mine' })).toBe('/clone/mine')
})
