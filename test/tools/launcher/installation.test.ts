import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ROOT, userDataFolder } from '../../../tools/launcher/bootstrap/installation.mjs'
import { tryLock } from '../../../tools/launcher/bootstrap/process-lock.mjs'
import { writeRunningServices } from '../../../tools/launcher/bootstrap/running-services.mjs'
import { ofRunner } from '../../helpers/stack-part.ts'

test('an installed package keeps its data where the system keeps that of programs', () => {
  const home = homedir()
  expect(userDataFolder('linux', {})).toBe(join(home, '.local/share/shuntyard'))
  expect(userDataFolder('linux', { XDG_DATA_HOME: '/data' })).toBe('/data/shuntyard')
  expect(userDataFolder('darwin', {})).toBe(join(home, 'Library/Application Support/shuntyard'))
  expect(userDataFolder('win32', { LOCALAPPDATA: '/local' })).toBe('/local/shuntyard')
})

describe('commands that need no running services', () => {
  let dataDir: string
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'shuntyard-status-'))
  })
  afterEach(() => rm(dataDir, { recursive: true }))

  const run = (command: string, option = '--json') =>
    new Promise<{ code: unknown; output: string }>((done) => {
      const args = [join(ROOT, 'tools/launcher/bootstrap/launch.mjs'), command, '--data', dataDir, option]
      execFile(process.execPath, args, { env: ofRunner() }, (error, stdout, stderr) =>
        done({ code: error?.code ?? 0, output: stdout + stderr }),
      )
    })

  test('stop and status report that nothing runs over the data folder', async () => {
    const status = await run('status')
    expect(JSON.parse(status.output)).toMatchObject({ state: 'stopped', url: null, data: dataDir })
    expect(status.code).toBe(1)
    expect(await run('stop')).toEqual({ code: 0, output: `Nothing runs over ${dataDir}.\n` })
  })

  test('admin --help lists the commands of operators', async () => {
    expect((await run('admin', '--help')).output).toContain('Usage: npm run admin -- COMMAND')
  })

  test('status reports whether the running gateway takes calls', async () => {
    let isReady = false
    const server = createServer((_, response) => response.writeHead(isReady ? 200 : 503).end())
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as AddressInfo
    const lock = tryLock(join(dataDir, 'start.lock'))
    writeRunningServices(dataDir, { HOST: '0.0.0.0', PORT: String(port) })
    try {
      const facts = { pid: process.pid, url: `http://127.0.0.1:${port}` }
      const before = await run('status')
      expect(JSON.parse(before.output)).toMatchObject({ ...facts, state: 'not ready' })
      isReady = true
      const after = await run('status')
      expect(JSON.parse(after.output)).toMatchObject({ ...facts, state: 'ready' })
      expect([before.code, after.code]).toEqual([1, 0])
    } finally {
      if (lock.acquired) lock.release()
      server.close()
    }
  })
})
