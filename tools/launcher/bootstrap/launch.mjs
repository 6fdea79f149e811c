#!/usr/bin/env node
/**
 * What every npm script and the program `shuntyard` run: `launch.mjs COMMAND [--data DIR] [ARGUMENTS]`, on whatever
 * Node the machine has (20 or newer). In a clone, makes sure that packages are installed and the database client is
 * generated. Then runs the command on the project's own Node, passing signals and the exit code through.
 */
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { COMMANDS } from './commands.mjs'
import { IS_PACKAGE, projectNode, ROOT, userDataFolder, version } from './installation.mjs'
import { parentOf } from './process-lock.mjs'
import { dataDirectory, findRunningServices } from './running-services.mjs'

const PARENT_CHECK_MS = 1000

let onSignal = () => process.exit(143)

async function main([name, ...rest]) {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT']) process.on(signal, () => onSignal(signal))
  if (name === '--version' || name === '-v') return void console.log(version())
  if (name === undefined || name === 'help' || name === '--help' || name === '-h')
    return void console.log(usage())
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : null
  if (!command) throw new Error(`unknown command: ${name}\n\n${usage()}`)
  const { dataDir, args } = readDataOption(rest)
  if (!IS_PACKAGE) await (await import('./prepare-clone.mjs')).prepareClone(ROOT, projectNode)
  const source = (IS_PACKAGE && command.packaged) || command.entry
  const entry = join(ROOT, source)
  if (!existsSync(entry)) throw new Error(`${source} is missing from this copy of the project`)
  const { services, without } = command
  // What follows a `--` is of the program that the command starts.
  const own = args.includes('--') ? args.slice(0, args.indexOf('--')) : args
  const asksForHelp = own.includes('--help') || own.includes('-h')
  const isServed = asksForHelp || (without !== undefined && Boolean(process.env[without]))
  const needsServices = !isServed && (Array.isArray(services) ? services.includes(args[0]) : services)
  const environment = needsServices ? servicesEnvironment(dataDir) : {}
  run(projectNode(), [entry, ...(command.args ?? []), ...args], {
    NODE_COMPILE_CACHE: compileCache(dataDir),
    ...process.env,
    ...environment,
    ...((IS_PACKAGE || args !== rest) && { DATA_DIR: dataDir }),
    // Where the caller is; npm says it itself.
    INIT_CWD: process.env.INIT_CWD ?? process.cwd(),
  })
}

function usage() {
  const commands = Object.entries(COMMANDS).filter(([, { about }]) => about)
  return [
    IS_PACKAGE
      ? 'Usage: shuntyard COMMAND [--data DIR] [ARGUMENTS]'
      : 'Usage: npm run COMMAND -- [--data DIR] [ARGUMENTS]',
    '',
    ...commands.map(([name, { about }]) => `  ${name.padEnd(9)} ${about}`),
    '',
    `The data is in ${dataFolder(undefined)}, or where --data or DATA_DIR says.`,
  ].join('\n')
}

/** The data folder, and the arguments without `--data DIR`. */
function readDataOption(args) {
  const at = args.indexOf('--data')
  if (at === -1) return { dataDir: dataFolder(undefined), args }
  const named = args[at + 1]
  if (!named) throw new Error('--data needs a folder')
  return { dataDir: dataFolder(named), args: args.filter((_, index) => index !== at && index !== at + 1) }
}

function dataFolder(named) {
  const { env } = process
  if (named) return resolve(named)
  if (!IS_PACKAGE) return dataDirectory(ROOT, env)
  return env.DATA_DIR ? resolve(env.DATA_DIR) : userDataFolder(process.platform, env)
}

/** What Node made of our source; every process that a command starts comes up in half the time with it. */
const compileCache = (dataDir) =>
  IS_PACKAGE ? join(dataDir, 'cache', 'node') : join(ROOT, 'node_modules', '.cache', 'node')

/** Addresses and keys for the operator's commands: from the environment, else from the start that runs over the data. */
function servicesEnvironment(dataDir) {
  const { env } = process
  if (env.DATABASE_URL && env.REDIS_URL) return {}
  const running = findRunningServices(dataDir)
  if (!running) {
    throw new Error(
      `no services are running in ${dataDir}: run "npm start" in another terminal first, or set DATABASE_URL, REDIS_URL and MASTER_KEY`,
    )
  }
  return Object.fromEntries(Object.entries(running.environment).filter(([key]) => !env[key]))
}

function run(node, args, env) {
  const programs = IS_PACKAGE ? dirname(node) : join(ROOT, 'node_modules', '.bin')
  const child = spawn(node, args, {
    // Paths on the command line and in settings are those of the caller, who runs npm in the root of a clone.
    cwd: IS_PACKAGE ? process.cwd() : ROOT,
    env: { ...env, PATH: `${programs}:${env.PATH ?? ''}` },
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
