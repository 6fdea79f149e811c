import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { agentSetup } from '../../../web/lib/agent-setups.ts'
import { type CodingAgent, RIGHT, SOURCE_FILE, TEST_FILE, WRONG } from './coding-agents.ts'

const RUN_TIMEOUT_MS = 60_000
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
 * its guide. Rejects unless the file is corrected and the test has passed.
 */
export async function runAgent(agent: CodingAgent, { url, key, model, programs }: AgentRun): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), 'switchyard-gate-agent-'))
  const folder = join(home, 'repository')
  try {
    await createRepository(folder)
    const setup = agentSetup(agent.id, { origin: url, apiKey: key, model })
    const output = await runShell(`${setup}\n${agent.command}`, folder, {
      ...agent.env,
      HOME: home,
      PATH: `${programs}:${join(process.execPath, '..')}:${process.env.PATH}`,
      MODEL: model,
      PROMPT: `Correct ${SOURCE_FILE}.\n${agent.script(folder)}\nThen stop.`,
    })
    const source = await readFile(join(folder, SOURCE_FILE), 'utf8')
    assert.ok(source.includes(RIGHT), `the file was not edited: ${output}`)
    const hasPassed = access(join(folder, PASSED)).then(
      () => true,
      () => false,
    )
    assert.ok(await hasPassed, `the test was not run: ${output}`)
  } finally {
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

/** Runs a script in a session of its own and ends whatever of it is left. Returns the end of what it printed. */
async function runShell(script: string, cwd: string, env: NodeJS.ProcessEnv): Promise<string> {
  const shell = spawn('/bin/sh', ['-ec', script], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const endAll = () => {
    try {
      process.kill(-shell.pid!, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  const timer = setTimeout(endAll, RUN_TIMEOUT_MS)
  const printed = Promise.all([text(shell.stderr), text(shell.stdout)])
  await once(shell, 'exit')
  clearTimeout(timer)
  endAll()
  return (await printed).join('\n').trim().slice(-OUTPUT_CHARS_MAX)
}
