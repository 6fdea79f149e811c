import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { admin } from '../../src/cli/admin.ts'
import { launch } from '../../src/cli/launch.ts'
import { AGENTS, agentSettings } from '../../src/core/api/agent-settings.ts'
import { testLedger, testRedis } from '../helpers/resources.ts'
import { ofRunner } from '../helpers/stack-part.ts'

const ledger = testLedger()
const redis = testRedis()
const KEY = 'sk-sy-test'
const MODELS: Record<string, object> = {
  'test/one': { supported_parameters: ['temperature', 'tools'] },
  'test/no-tools': { supported_parameters: ['temperature'] },
}
/** A gateway as far as the command asks it: it has some models. */
const gateway = createServer((request, response) => {
  const model = MODELS[decodeURIComponent(request.url?.replace('/v2/models/', '') ?? '')]
  response.writeHead(model ? 200 : 404, { 'content-type': 'application/json' })
  response.end(JSON.stringify(model ?? { error: { message: 'Model not found.' } }))
})
let url: string
let folder: string
const said: string[] = []

/** An agent's program that writes down what it was given. */
const PROGRAM = `#!${process.execPath}
const { writeFileSync } = require('node:fs')
const { env, argv } = process
writeFileSync(env.SEEN, JSON.stringify({ args: argv.slice(2), folder: process.cwd(), env }))
if (argv.includes('wait')) {
  process.on('SIGTERM', () => process.exit(9))
  process.stdout.write('ready')
  setInterval(() => undefined, 60_000)
} else process.exit(7)
`

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shuntyard-launch-'))
  for (const { program } of AGENTS) await writeFile(join(folder, program), PROGRAM, { mode: 0o755 })
  gateway.listen(0, '127.0.0.1')
  await once(gateway, 'listening')
  url = `http://127.0.0.1:${(gateway.address() as AddressInfo).port}`
})
afterAll(async () => {
  gateway.close()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(() => void said.splice(0))

const environment = (more: Record<string, string> = {}) => ({
  ...{ PATH: folder, INIT_CWD: folder, SEEN: join(folder, 'seen.json') },
  ...{ DATABASE_URL: ledger.url, REDIS_URL: redis.url, MASTER_KEY: '11'.repeat(32) },
  ...more,
})
const run = (args: string[], more?: Record<string, string>) =>
  launch([...args.slice(0, 1), '--url', url, ...args.slice(1)], environment(more), (line) => said.push(line))
const seen = async () =>
  JSON.parse(await readFile(join(folder, 'seen.json'), 'utf8')) as {
    args: string[]
    folder: string
    env: Record<string, string>
  }

test.each([
  ['claude', 'claude-code'],
  ['codex', 'codex'],
  ['opencode', 'opencode'],
  ['qwen', 'qwen-code'],
  ['aider', 'aider'],
] as const)('%s gets what its guide shows, with the arguments that follow', async (program, id) => {
  const given = ['-p', 'Say "hi".', '--help', '--']
  expect(await run([program, '--model', 'test/one', '--', ...given], { SHUNTYARD_API_KEY: KEY })).toBe(7)
  const { variables, options } = agentSettings(id, { origin: url, apiKey: KEY, model: 'test/one' })
  const { args, env } = await seen()
  expect(args).toEqual([...options, ...given])
  expect(env).toMatchObject(variables)
  expect(said.join('\n')).toContain('the key of SHUNTYARD_API_KEY')
  for (const name of Object.keys(variables)) expect(said.join('\n')).toContain(name)
})

test('an agent runs where its caller is, without the settings of the gateway or a key that would win', async () => {
  const others = { SHUNTYARD_API_KEY: KEY, ANTHROPIC_API_KEY: 'other', EDITOR: 'vi' }
  await run(['claude', '--model', 'test/one'], others)
  const { folder: cwd, env } = await seen()
  expect(cwd).toBe(folder)
  expect(env.EDITOR).toBe('vi')
  for (const name of ['DATABASE_URL', 'REDIS_URL', 'MASTER_KEY', 'ANTHROPIC_API_KEY'])
    expect(env).not.toHaveProperty(name)
})

test('an operator gets a key with a name and a limit, which ends with the agent', async () => {
  const account = ['account', 'create', '--email', 'launch@x.test', '--credit', '5.00']
  await admin(account, environment())
  const args = ['claude', '--model', 'test/one', '--account', 'launch@x.test', '--limit', '1.50']
  expect(await run(args)).toBe(7)
  const { data } = await admin(['key', 'list', '--account', 'launch@x.test'], environment())
  const key = { name: 'launch Claude Code', limit_usd: '1.50', state: 'revoked' }
  expect(data).toMatchObject({ keys: [key] })
  const { env } = await seen()
  expect(env.ANTHROPIC_AUTH_TOKEN).toMatch(/^sk-sy-/)
  expect(said.join('\n')).not.toContain(env.ANTHROPIC_AUTH_TOKEN)
  await expect(run([...args.slice(0, 1), '--account', 'launch@x.test', '--model', 'no'])).rejects.toThrow(
    'Model not found.',
  )
  expect(await admin(['key', 'list', '--account', 'launch@x.test'], environment())).toMatchObject({
    data: { keys: [{ state: 'revoked' }, { state: 'revoked' }] },
  })
})

test('a signal reaches the agent, and its exit code is the command’s', async () => {
  const args = ['claude', '--url', url, '--model', 'test/one', '--', 'wait']
  const command = spawn(process.execPath, [join(import.meta.dirname, '../../src/cli/launch.ts'), ...args], {
    env: { ...ofRunner(), ...environment({ SHUNTYARD_API_KEY: KEY }) },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await once(command.stdout, 'data')
  command.kill('SIGTERM')
  expect(await once(command, 'exit')).toEqual([9, null])
})

test.each([
  [['claude', 'hello'], 'behind --'],
  [['emacs'], 'Usage'],
  [['cline'], 'Usage'],
  [['claude', '--limit', 'much'], '--limit'],
])('%j is refused', async (args, words) => {
  await expect(run(args)).rejects.toThrow(words)
})

test('a model without tools is refused before its agent starts, except to aider, which uses none', async () => {
  const args = ['--model', 'test/no-tools']
  const key = { SHUNTYARD_API_KEY: KEY }
  await expect(run(['codex', ...args], key)).rejects.toThrow('test/no-tools takes no tools')
  expect(await run(['aider', ...args], key)).toBe(7)
})

test('a program that is missing is named with how to install it', async () => {
  const missing = run(['claude', '--model', 'test/one'], { SHUNTYARD_API_KEY: KEY, PATH: '/nowhere' })
  await expect(missing).rejects.toThrow('npm install -g @anthropic-ai/claude-code')
})
