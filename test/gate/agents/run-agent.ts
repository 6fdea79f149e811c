import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { agentSetup } from '../../../web/lib/agent-setups.ts'
import { type CodingAgent, RECORDED, RIGHT, SOURCE_FILE, TEST_FILE, WRONG, withMcp } from './coding-agents.ts'

const MCP_SERVER = join(import.meta.dirname, 'mcp-server.mjs')
/** Some wait for their vendor's network first. */
const RUN_TIMEOUT_MS = 240_000
const LOOK_EVERY_MS = 100
/** What an interrupted agent has to end by itself. */
const INTERRUPT_MS = 5_000
const OUTPUT_CHARS_MAX = 300
/** Written by the test of the scratch repository when it passes. */
const PASSED = 'passed'

interface AgentRun {
  /** The gateway's origin. */
  url: string
  key: string
  model: string
  /** The folder with the agent's program. */
  programs: string
}

/**
 * Has an agent correct a file of a scratch repository and run its test, with a home of its own and set up by the lines of
 * its guide. One with MCP also calls the tools of a server, is interrupted in the middle of a call, and goes on. Rejects unless
 * the file is corrected, the test has passed, and the server was called as scripted.
 */
export async function runAgent(agent: CodingAgent, { url, key, model, programs }: AgentRun): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'shuntyard-gate-agent-'))
  const folder = join(home, 'repository')
  await createRepository(folder)
  try {
    const setup = agentSetup(agent.id, { origin: url, apiKey: key, model })
    const recordFile = join(home, 'record')
    const recorded = async () => (await readFile(recordFile, 'utf8').catch(() => '')).trim().split('\n')
    const server = { command: process.execPath, args: [MCP_SERVER, recordFile] }
    const { mcp } = agent
    const script = agent.script(folder)
    const env = {
      ...agent.env,
      MCP_SERVER,
      MCP_RECORD: recordFile,
      MCP_JSON: JSON.stringify({ mcpServers: { gate: server } }),
      HOME: home,
      PATH: `${programs}:${join(process.execPath, '..')}:${process.env.PATH}`,
      MODEL: model,
      PROMPT: `Correct ${SOURCE_FILE}.\n${mcp ? withMcp(script, mcp) : script}\nThen stop.`,
    }
    const started = [setup, mcp?.setup ?? '', agent.command].join('\n')
    const isWaiting = mcp && (async () => (await recorded()).includes('wait'))
    let output = await runShell(started, folder, env, isWaiting)
    if (mcp) {
      assert.ok(await isWaiting!(), `the server was not called: ${output}`)
      output = await runShell([setup, mcp.setup ?? '', mcp.resume].join('\n'), folder, env)
      const texts = await recorded()
      const missing = [...RECORDED, ...(mcp.records ?? [])].filter((text) => !texts.includes(text))
      assert.deepEqual(missing, [], `calls of the server are missing: ${output}`)
    }
    const source = await readFile(join(folder, SOURCE_FILE), 'utf8')
    assert.ok(source.includes(RIGHT), `the file was not edited: ${output}`)
    const hasPassed = access(join(folder, PASSED)).then(
      () => true,
      () => false,
    )
    assert.ok(await hasPassed, `the test was not run: ${output}`)
  } finally {
    if (agent.after) await runShell(agent.after, folder, { HOME: home, PATH: process.env.PATH })
    await rm(home, { recursive: true, force: true, maxRetries: 3 })
  }
}

async function createRepository(folder: string): Promise<void> {
  await mkdir(folder)
  await writeFile(join(folder, SOURCE_FILE), `export const sum = (a, b) => ${WRONG}\n`)
  const lines = [
    `import assert from 'node:assert'`,
    `import { writeFileSync } from 'node:fs'`,
    `import { sum } from './${SOURCE_FILE}'`,
    `assert.equal(sum(2, 3), 5)`,
    `writeFileSync('${PASSED}', '')`,
  ]
  await writeFile(join(folder, TEST_FILE), `${lines.join('\n')}\n`)
  const git = (...args: string[]) => execFileSync('git', args, { cwd: folder })
  git('init', '--quiet')
  git('config', 'user.name', 'Gate')
  git('config', 'user.email', 'gate@example.com')
  git('add', '.')
  git('commit', '--quiet', '--message', 'Start')
}

/**
 * Runs a script in a session of its own, interrupts it once it may be, and ends whatever of it is left. Returns the end of what
 * it printed.
 */
async function runShell(
  script: string,
  cwd: string,
  env: NodeJS.ProcessEnv,
  mayInterrupt: () => Promise<boolean> = async () => false,
): Promise<string> {
  const shell = spawn('/bin/sh', ['-ec', script], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const endAll = (signal: NodeJS.Signals = 'SIGKILL') => {
    try {
      process.kill(-shell.pid!, signal)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  const timer = setTimeout(endAll, RUN_TIMEOUT_MS)
  const looking = setInterval(async () => {
    if (!(await mayInterrupt())) return
    clearInterval(looking)
    endAll('SIGINT')
    setTimeout(endAll, INTERRUPT_MS).unref()
  }, LOOK_EVERY_MS)
  const printed = Promise.all([text(shell.stderr), text(shell.stdout)])
  await once(shell, 'exit')
  clearTimeout(timer)
  clearInterval(looking)
  endAll()
  return (await printed).join('\n').trim().slice(-OUTPUT_CHARS_MAX)
}
