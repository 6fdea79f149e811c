import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { isRunning } from '../../tools/launcher/bootstrap/process-lock.mjs'
import { eventually } from '../helpers/eventually.ts'

const GUARD = join(resolve(import.meta.dirname, '../..'), 'tools/launcher/processes/process-guard.ts')

test('what a killed process had started is ended', async () => {
  const script = `
    import { spawn } from 'node:child_process'
    import { startProcessGuard } from ${JSON.stringify(GUARD)}
    const child = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' })
    startProcessGuard().add(child.pid, 'services')
    console.log(child.pid)
  `
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [chunk] = await once(parent.stdout, 'data')
  const pid = Number(String(chunk))
  expect(isRunning(pid, '')).toBe(true)
  parent.kill('SIGKILL')
  await eventually(() => expect(isRunning(pid, '')).toBe(false))
})
