/**
 * `npm run release-check [-- --from REF]`: what a stranger does with the package, in a few minutes: packs this checkout and REF (the commit
 * before, unless named), and as root and as an ordinary user installs, starts, calls with the openai library, audits, upgrades under load and
 * uninstalls. Exits non-zero if anything fails.
 */
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import { ROOT } from '../launcher/bootstrap/installation.mjs'
import { runProcess, withProgress } from '../launcher/bootstrap/run-process.mjs'
import { freePort } from '../launcher/ports.ts'
import { listenForStop } from '../launcher/processes/stop-request.ts'
import { type Person, type Program, runAs, startInstalled } from './installed-gateway.ts'

const LIMIT_MS = 300_000
const COLD_SECONDS_MAX = 60
const WARM_SECONDS_MAX = 10
/** On a busy machine everything takes longer; the limits are those of a quiet one. */
const QUIET_LOAD = 1.5
const CALLS_IN_FLIGHT = 8
/** 200 words at 50 a second: four seconds. */
const SLOW_MODEL = 'sim/paced-1'

const stop = listenForStop(() => process.exit(130))
const failure = new AbortController()
const signal = AbortSignal.any([AbortSignal.timeout(LIMIT_MS), stop.signal, failure.signal])
/** The ends of the gateways that were started. */
const ends: Promise<unknown>[] = []
const folder = mkdtempSync(join(tmpdir(), 'shuntyard-release-'))
chmodSync(folder, 0o755)

async function main(): Promise<void> {
  const { values } = parseArgs({
    args: process.argv.slice(2),
    options: { from: { type: 'string', default: 'HEAD^' } },
  })
  const now = await step('packing this checkout', () => pack(ROOT, 'now'))
  console.log(`  ${(statSync(now).size / 1e6).toFixed(1)} MB`)
  const before = await step(`packing ${values.from}`, () => packOf(values.from))
  await step('listing the parts (CycloneDX)', () => checkParts(now))
  const { owner, user } = people()
  await checkRun(user, now)
  await checkInstallation(owner, user, now, before)
}

/** Ourselves, and an ordinary user if we are root. PostgreSQL needs one with a name. */
function people(): { owner: Person; user: Person } {
  const owner = { name: 'owner', home: homeOf('owner') }
  if (process.getuid?.() !== 0) return { owner, user: owner }
  const [, , uid, gid] = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((line) => line.startsWith('nobody:'))!
    .split(':')
    .map(Number)
  return { owner, user: { name: 'ordinary user', home: homeOf('user', uid, gid), uid: uid!, gid: gid! } }
}

function homeOf(name: string, uid?: number, gid?: number): string {
  const home = join(folder, name)
  mkdirSync(home, { mode: 0o700 })
  if (uid !== undefined) chownSync(home, uid, gid!)
  return home
}

/** From the file alone: the first call from an empty cache, and the one after that. */
async function checkRun(person: Person, now: string): Promise<void> {
  const { home } = person
  const port = await freePort()
  copyFileSync(now, join(home, basename(now)))
  const npx: Program = ['npx', '--yes', `./${basename(now)}`]
  const run = (command: string) => runAs(person, npx, [command], { signal })
  const cold = await step('npx from an empty cache to the first call', () => startAndCall(person, npx, port))
  report('cold', cold, COLD_SECONDS_MAX)
  await step('stop', () => run('stop'))
  const warm = await step('the same again', () => startAndCall(person, npx, port))
  report('warm', warm, WARM_SECONDS_MAX)
  await step('audit, status, stop', async () => {
    for (const command of ['audit', 'status', 'stop']) await run(command)
  })
}

/** Installed for everybody: run by a user who may not write there, upgraded under load, uninstalled. */
async function checkInstallation(owner: Person, user: Person, now: string, before: string): Promise<void> {
  const prefix = join(folder, 'global')
  const npm = (...args: string[]) =>
    runAs(owner, ['npm'], [...args, '--global', '--prefix', prefix], { signal })
  const program: Program = [join(prefix, 'bin', 'shuntyard')]
  const port = await freePort()
  await step('npm install --global of the version before', () => npm('install', before))
  // Before its owner has run it: PostgreSQL is not prepared, and the user may not do so.
  await step(`run by the ${user.name}`, async () => {
    await startAndCall(user, program, port)
    await runAs(user, program, ['stop'], { signal })
  })
  await step('upgrade with calls in flight', () => upgrade(owner, program, port, () => npm('install', now)))
  await step('uninstall', async () => {
    await npm('uninstall', 'shuntyard')
    const left = readdirSync(prefix, { recursive: true }).filter((path) => String(path).includes('shuntyard'))
    if (left.length > 0) throw new Error(`uninstalling left ${left.join(', ')}`)
    const key = join(owner.home, '.local', 'share', 'shuntyard', 'master-key')
    if (!existsSync(key)) throw new Error(`uninstalling removed the data: there is no ${key}`)
  })
}

async function start(person: Person, program: Program, port: number) {
  const gateway = await startInstalled(person, program, { port, signal })
  ends.push(gateway.ended.catch(() => undefined))
  return gateway
}

/** Seconds until the first whole stream. */
async function startAndCall(person: Person, program: Program, port: number): Promise<number> {
  const startedAt = performance.now()
  const gateway = await start(person, program, port)
  await gateway.stream()
  return (performance.now() - startedAt) / 1000
}

/** Every call that was accepted ends whole, the key keeps its account, and the audit proves the charges of both versions. */
async function upgrade(
  person: Person,
  program: Program,
  port: number,
  install: () => Promise<unknown>,
): Promise<void> {
  const before = await start(person, program, port)
  const calls = Array.from({ length: CALLS_IN_FLIGHT }, () => before.stream(SLOW_MODEL))
  const results = Promise.allSettled(calls)
  await Promise.race([Promise.any(calls), new Promise((done) => setTimeout(done, 1000))])
  await runAs(person, program, ['stop'], { signal })
  await before.ended
  const cut = (await results).filter(({ status }) => status === 'rejected')
  if (cut.length > 0) throw new Error(`${cut.length} of ${CALLS_IN_FLIGHT} calls were cut off by stop`)
  await install()
  const after = await start(person, program, port)
  if (after.apiKey !== before.apiKey) throw new Error('the upgrade lost the account')
  await after.stream()
  await runAs(person, program, ['audit', '--full'], { signal })
  await runAs(person, program, ['stop'], { signal })
  await after.ended
}

/** Packs a checkout of another commit, with our packages if it has the same. */
async function packOf(ref: string): Promise<string> {
  const checkout = join(folder, 'checkout')
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] })
  git('worktree', 'add', '--detach', checkout, ref)
  try {
    const read = (root: string, file: string) => readFileSync(join(root, file), 'utf8')
    if (!read(checkout, 'package.json').includes('"prepack"'))
      throw new Error(`${ref} makes no package; name a later one with --from`)
    if (read(checkout, 'package-lock.json') === read(ROOT, 'package-lock.json'))
      symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'))
    return await pack(checkout, 'before')
  } finally {
    git('worktree', 'remove', '--force', checkout)
  }
}

async function pack(root: string, name: string): Promise<string> {
  const target = join(folder, name)
  mkdirSync(target)
  await runProcess('npm', ['pack', '--pack-destination', target], { cwd: root, signal })
  const [file] = readdirSync(target)
  return join(target, file!)
}

/** The list of parts names every package of the lock file. */
async function checkParts(file: string): Promise<void> {
  await runProcess('tar', ['-xzf', file, '-C', folder])
  const root = join(folder, 'package')
  const pictures = readdirSync(root, { recursive: true }).filter((path) =>
    /\.(png|jpe?g|webp|gif)$/.test(String(path)),
  )
  if (pictures.length > 0) throw new Error(`the package holds pictures: ${pictures.join(', ')}`)
  // npm expects what package.json names in the lock file.
  await runProcess('npm', ['pkg', 'delete', 'devDependencies'], { cwd: root, signal })
  const args = ['sbom', '--package-lock-only', '--omit=dev', '--sbom-format=cyclonedx']
  const { bomFormat, components } = JSON.parse(await runProcess('npm', args, { cwd: root, signal }))
  const { packages } = JSON.parse(readFileSync(join(root, 'npm-shrinkwrap.json'), 'utf8'))
  const listed = new Set(components.map(({ purl }: { purl: string }) => decodeURIComponent(purl)))
  const missing = Object.entries<{ version: string }>(packages)
    .filter(([path]) => path !== '')
    .map(([path, { version }]) => `pkg:npm/${path.replace(/^.*node_modules\//, '')}@${version}`)
    .filter((part) => !listed.has(part))
  if (bomFormat !== 'CycloneDX' || missing.length > 0)
    throw new Error(`the list of parts is no CycloneDX or lacks ${missing.join(', ')}`)
}

const step = <T>(label: string, run: () => Promise<T>): Promise<T> => withProgress(label, run)

function report(kind: string, seconds: number, max: number): void {
  const [load = 0] = loadavg()
  console.log(`  ${kind} ${seconds.toFixed(1)} s (load ${load.toFixed(1)})`)
  if (seconds > max && load < QUIET_LOAD) throw new Error(`more than ${max} s on a quiet machine`)
}

try {
  await main()
  console.log('The package installs, runs, upgrades and uninstalls.')
} catch (error) {
  console.error((error as Error).message)
  process.exitCode = 1
} finally {
  // Whatever still runs after a failure.
  failure.abort()
  await Promise.all(ends)
  stop.dispose()
  // Root's PostgreSQL keeps its files elsewhere.
  const note = join(folder, 'owner', '.local', 'share', 'shuntyard', 'postgres-folder')
  if (existsSync(note)) rmSync(readFileSync(note, 'utf8').trim(), { recursive: true, force: true })
  rmSync(folder, { recursive: true, force: true })
}
