/**
 * What every npm script runs: `node launch.mjs COMMAND [ARGUMENTS]`, on whatever Node the machine has (20 or
 * newer). Makes sure that packages are installed and the database client is generated, then runs the command
 * on the project's own Node, passing signals and the exit code through.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { prepareClone } from './prepare-clone.mjs'
import { parentOf } from './process-lock.mjs'
import { dataDirectory, findRunningServices } from './running-services.mjs'

const ROOT = resolve(import.meta.dirname ?? new URL('.', import.meta.url).pathname, '../../..')
const PARENT_CHECK_MS = 1000
const RUNTIME_MAJOR = 24
/** What Node made of our source; every process that a command starts comes up in half the time with it. */
const COMPILE_CACHE = join(ROOT, 'node_modules', '.cache', 'node')

/** `services: true` marks the operator's commands, which work on the services of a running `npm start`. */
const COMMANDS = {
  start: { entry: 'tools/launcher/start.ts' },
  test: { entry: 'tools/launcher/test.ts' },
  check: { entry: 'tools/launcher/check.ts' },
  bench: { entry: 'test/bench/bench.ts' },
  gate: { entry: 'test/gate/gate.ts' },
  'console:build': { entry: 'tools/launcher/build-console.ts' },
  'console:dev': { entry: 'tools/launcher/serve-console.ts' },
  'console:screenshots': {
    entry: 'tools/launcher/test.ts',
    args: ['--config', 'test/browser/screenshots.config.ts'],
  },
  admin: { entry: 'src/cli/admin.ts', services: true },
  audit: { entry: 'src/cli/audit.ts', services: true },
  catalog: { entry: 'src/cli/catalog.ts', services: true },
  router: { entry: 'src/cli/router.ts' },
  'router:eval': { entry: 'tools/router-training/eval.ts' },
  'router:quality': { entry: 'tools/router-training/write-quality.ts' },
  'router:train': { entry: 'tools/router-training/train.ts' },
  trace: { entry: 'src/cli/trace.ts', services: true },
  migrate: { entry: 'src/cli/migrate.ts', services: true },
}

let onSignal = () => process.exit(143)

async function main([name, ...args]) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) process.on(signal, () => onSignal(signal))
  const command = Object.hasOwn(COMMANDS, name ?? '') ? COMMANDS[name] : null
  if (!command) throw new Error(`unknown command; there are: ${Object.keys(COMMANDS).join(', ')}`)
  await prepareClone(ROOT, projectNode)
  const entry = join(ROOT, command.entry)
  if (!existsSync(entry)) throw new Error(`${command.entry} is missing from this copy of the project`)
  const environment = command.services ? servicesEnvironment() : {}
  run(projectNode(), [entry, ...(command.args ?? []), ...args], {
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...process.env,
    ...environment,
  })
}

/** The Node that was installed with the packages; on a platform without one, the host's, if it is new enough. */
function projectNode() {
  const installed = join(ROOT, 'node_modules', '.bin', 'node')
  if (existsSync(installed)) return installed
  if (Number(process.versions.node.split('.')[0]) >= RUNTIME_MAJOR) return process.execPath
  throw new Error(
    `Node ${RUNTIME_MAJOR} or newer is needed on ${process.platform} ${process.arch}; this is ${process.version}`,
  )
}

/** Addresses and keys for the operator's commands: from the environment, else from the running start of this clone. */
function servicesEnvironment() {
  const { env } = process
  if (env.DATABASE_URL && env.REDIS_URL) return {}
  const dataDir = dataDirectory(ROOT, env)
  const running = findRunningServices(dataDir)
  if (!running) {
    throw new Error(
      `no services are running in ${dataDir}: run "npm start" in another terminal first, or set DATABASE_URL, REDIS_URL and MASTER_KEY`,
    )
  }
  return Object.fromEntries(Object.entries(running.environment).filter(([key]) => !env[key]))
}

function run(node, args, env) {
  const binFolder = join(ROOT, 'node_modules', '.bin')
  const child = spawn(node, args, {
    cwd: ROOT,
    env: { ...env, PATH: `${binFolder}:${env.PATH ?? ''}` },
    // Long-running commands stop when the channel closes, as it does when this process is killed.
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  })
  const stopWatching = whenNpmIsGone(() => child.kill('SIGTERM'))
  onSignal = (signal) => child.kill(signal)
  child.on('error', fail)
  child.on('close', (code, signal) => {
    stopWatching()
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143)
    if (child.connected) child.disconnect()
  })
}

/** Stops the command when npm itself was killed by SIGKILL. */
function whenNpmIsGone(stop) {
  if (!process.env.npm_lifecycle_event) return () => undefined
  const parent = process.ppid
  // npm runs its scripts in a shell, which some shells replace by the script and others do not.
  const shellParent = parentIsShell() ? parentOf(parent) : null
  const timer = setInterval(() => {
    if (process.ppid === parent && (shellParent === null || parentOf(parent) === shellParent)) return
    clearInterval(timer)
    stop()
  }, PARENT_CHECK_MS)
  return () => clearInterval(timer)
}

function parentIsShell() {
  const path = `/proc/${process.ppid}/comm`
  return existsSync(path) && /^(ba|da|z|k|a)?sh$|^busybox$/.test(readFileSync(path, 'utf8').trim())
}

function fail(error) {
  console.error(`\n${error.message}`)
  process.exitCode = 1
}

main(process.argv.slice(2)).catch(fail)
