import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { processMentions } from '../../tools/launcher/processes/stop-orphan.ts'
import { ofRunner } from '../helpers/stack-part.ts'

const ROOT = resolve(import.meta.dirname, '../..')

async function runEntry(entry: string, environment: Record<string, string>) {
  const options = { cwd: ROOT, env: { ...ofRunner(), ...environment } }
  return new Promise<{ code: unknown; output: string }>((done) => {
    execFile(process.execPath, [join(ROOT, entry)], options, (error, stdout, stderr) => {
      done({ code: error?.code ?? 0, output: stdout + stderr })
    })
  })
}

test('npm start names the service that does not start, exits with 1 and leaves no process behind', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'shuntyard-failed-'))
  const cluster = join(dataDir, 'postgres')
  try {
    // A cluster that is marked as complete and is none.
    await mkdir(cluster)
    await writeFile(join(cluster, 'shuntyard.complete'), '')
    await writeFile(join(dataDir, 'postgres-folder'), cluster)
    const { code, output } = await runEntry('tools/launcher/start.ts', { DATA_DIR: dataDir })
    expect(output).toContain('postgres ended before it was ready')
    expect(code).toBe(1)
    const pids = (await readdir('/proc')).map(Number).filter(Boolean)
    expect(pids.filter((pid) => processMentions(pid, dataDir))).toEqual([])
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
})

test('npm test ends with the reason when the PostgreSQL it is given never responds', async () => {
  const sockets: Socket[] = []
  const server = createServer((socket) => void sockets.push(socket)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  try {
    const { code, output } = await runEntry('tools/launcher/test.ts', {
      TEST_DATABASE_URL: `postgresql://127.0.0.1:${port}/postgres`,
    })
    expect(output).toMatch(/no tests were run: .*timeout/)
    expect(code).toBe(1)
  } finally {
    for (const socket of sockets) socket.destroy()
    server.close()
  }
})
