/**
 * `npm run gate [-- SURFACE … | --agents [AGENT …] | --sdks [LIBRARY …] | real]`: the release gate. Brings up a gateway of this checkout on throwaway data, runs
 * the checks of each surface, the command-line agents or the client libraries against it and writes what it found into the evidence that is
 * checked in. Exits non-zero if a check failed.
 */
import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SurfaceEvidence } from '../../src/core/api/surfaces/surface-evidence.ts'
import { SURFACES, type SurfaceId } from '../../src/core/api/surfaces/surface-registry.ts'
import type { PublishedSurfaceList } from '../../src/core/api/surfaces/surfaces.ts'
import { IS_PACKAGE, ROOT, version } from '../../tools/launcher/bootstrap/installation.mjs'
import { startProcessGuard } from '../../tools/launcher/processes/process-guard.ts'
import { listenForStop } from '../../tools/launcher/processes/stop-request.ts'
import { startSimulatedProviders } from '../../tools/simulated-providers/start-simulated-providers.ts'
import { encodePng } from '../../tools/simulated-providers/tasks/png.ts'
import { encodeWav, toneSamples } from '../../tools/simulated-providers/tasks/speech-audio.ts'
import { startGateway } from '../bench/targets/gateway.ts'
import { catalogDocument } from '../helpers/test-catalog.ts'
import { CODING_AGENTS, type CodingAgent } from './agents/coding-agents.ts'
import { tryAgents } from './agents/try-agents.ts'
import type { GateContext } from './check.ts'
import { AGENT_MODELS, GATE_MODELS, LIMITED_REQUESTS_PER_MINUTE } from './gate-models.ts'
import { installPythonClients } from './python-clients.ts'
import { runRealGate } from './real/real-gate.ts'
import { type CheckResult, evidenceOf, renderResults, runGate } from './run-gate.ts'
import { SDK_MODELS, SDK_NAMES } from './sdks/sdk-packages.ts'
import { trySdks } from './sdks/try-sdks.ts'
import { SURFACE_GATES } from './surface-gates.ts'

const EVIDENCE = 'src/core/api/surfaces/surface-evidence.json'

async function main([first, ...others]: string[]): Promise<number> {
  if (IS_PACKAGE && (first?.startsWith('--') || first === 'real'))
    throw new Error('agents, libraries and a real model are tried in a clone')
  const agents = first === '--agents' ? selectAgents(others) : []
  const sdks = first === '--sdks' ? select(others, SDK_NAMES) : []
  const surfaces =
    agents.length > 0 || sdks.length > 0 || first === 'real'
      ? []
      : selectSurfaces(first === undefined ? [] : [first, ...others])
  const guard = startProcessGuard()
  const stop = listenForStop(() => process.exit(130))
  const resources = new AsyncDisposableStack()
  resources.defer(() => {
    stop.dispose()
    guard.close()
  })
  try {
    if (first === 'real') return (await runRealGate(guard, log)) ? 0 : 1
    const providers = resources.adopt(await startSimulatedProviders(), (server) => server.close())
    const catalog = catalogDocument({ ...GATE_MODELS, ...AGENT_MODELS, ...SDK_MODELS }, providers.url)
    log('starting a gateway …')
    const gateway = await startGateway({ name: 'gate', root: ROOT, catalog, isOneProcess: false, guard, log })
    resources.defer(gateway.stop)
    const url = new URL(gateway.url).origin
    if (agents.length > 0) {
      const { key } = await createKeys('agents', gateway.gateway.operate)
      return (await tryAgents(agents, { url, key }, log)) ? 0 : 1
    }
    if (sdks.length > 0) {
      const { key } = await createKeys('sdks', gateway.gateway.operate)
      const png = encodePng(32, 32, 0).toString('base64')
      const wav = Buffer.from(encodeWav(toneSamples(1, 1))).toString('base64')
      return (await trySdks(sdks, { url, key, png, wav }, log)) ? 0 : 1
    }
    log('installing the Python clients …')
    const { python, remove } = await installPythonClients()
    resources.defer(remove)
    const { data } = (await (await fetch(`${url}/surfaces.json`)).json()) as PublishedSurfaceList

    const results = new Map<SurfaceId, CheckResult[]>()
    const evidence = JSON.parse(await readFile(join(ROOT, EVIDENCE), 'utf8')) as Record<
      string,
      SurfaceEvidence
    >
    for (const id of surfaces) {
      const { contract } = data.find((surface) => surface.id === id)!
      log(`${id} (${results.size + 1} of ${surfaces.length})`)
      const context: GateContext = {
        ...(await createKeys(id, gateway.gateway.operate)),
        url,
        fetch,
        python,
        received: (model) =>
          providers.log.requests.filter((request) => request.model === model).map(({ body }) => body),
      }
      const found = await runGate(SURFACE_GATES[id]!, context, ({ name, outcome }, tookMs) =>
        log(`  ${outcome.padEnd(8)} ${name} (${(tookMs / 1000).toFixed(1)} s)`),
      )
      results.set(id, found)
      const run = { date: new Date().toISOString(), commit: presentCommit(), contract: contract ?? 'none' }
      evidence[id] = evidenceOf(found, run)
    }
    process.stdout.write(`${renderResults(results)}\n`)
    if (!IS_PACKAGE) {
      await writeFile(join(ROOT, EVIDENCE), `${JSON.stringify(evidence, null, 2)}\n`)
      process.stdout.write(`\nEvidence: ${EVIDENCE}\n`)
    }
    return surfaces.every((id) => evidence[id]?.passed) ? 0 : 1
  } finally {
    await resources.disposeAsync()
  }
}

const selectSurfaces = (args: readonly string[]): readonly SurfaceId[] =>
  select(args, Object.keys(SURFACE_GATES) as SurfaceId[])

const selectAgents = (args: readonly string[]): readonly CodingAgent[] => {
  const ids = select(
    args,
    CODING_AGENTS.map(({ id }) => id),
  )
  return CODING_AGENTS.filter(({ id }) => ids.includes(id))
}

/** Those that are named; all if none is. Throws for one that is not known. */
function select<Id extends string>(args: readonly string[], known: readonly Id[]): readonly Id[] {
  const unknown = args.filter((id) => !known.includes(id as Id))
  if (unknown.length > 0)
    throw new Error(`no checks for ${unknown.join(', ')}. There are: ${known.join(', ')}`)
  return args.length > 0 ? (args as Id[]) : known
}

/** An account of its own for each surface, opened to it, or for the agents or libraries, with a free key and a limited one. */
async function createKeys(
  id: SurfaceId | 'agents' | 'sdks',
  operate: (command: 'admin', ...args: string[]) => Promise<Record<string, unknown>>,
): Promise<Pick<GateContext, 'key' | 'limitedKey'>> {
  const admin = (words: string) => operate('admin', ...words.split(' '))
  const { account_id: account } = await admin(`account create --email ${id}@gate.example --credit 100`)
  if (SURFACES.find((surface) => surface.id === id)?.access === 'granted')
    await admin(`surface open ${id} --account ${account}`)
  const { key } = await admin(`key create --account ${account}`)
  const { key: limitedKey } = await admin(
    `key create --account ${account} --rpm ${LIMITED_REQUESTS_PER_MINUTE}`,
  )
  return { key: String(key), limitedKey: String(limitedKey) }
}

/** The commit that is checked out, `-dirty` if the sources differ from it; of a package its version. */
function presentCommit(): string {
  if (IS_PACKAGE) return `package ${version()}`
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).trim()
  const changed = git('status', '--porcelain', '--', 'src', 'workers', 'package-lock.json')
    .split('\n')
    .filter((line) => line !== '' && !line.endsWith(EVIDENCE))
  return `${git('rev-parse', 'HEAD')}${changed.length > 0 ? '-dirty' : ''}`
}

const log = (line: string): void => void process.stderr.write(`${line}\n`)

process.exitCode = await main(process.argv.slice(2)).catch((error: Error) => {
  log(error.message)
  return 1
})
