/**
 * `npm run gate -- real`: runs a small real model (llama.cpp, from PyPI) and asks it directly, through a gateway, and
 * through a gateway with a LiteLLM proxy between. The packages are kept below the data folder and `node_modules/.cache`.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LOCAL_MODEL_NAME, localModelCatalog } from '../../../src/core/catalog/local-model-catalog.ts'
import { ROOT } from '../../../tools/launcher/bootstrap/installation.mjs'
import { dataDirectory } from '../../../tools/launcher/bootstrap/running-services.mjs'
import { freePort } from '../../../tools/launcher/ports.ts'
import type { ProcessGuard } from '../../../tools/launcher/processes/process-guard.ts'
import { type ProcessPlan, spawnPlan } from '../../../tools/launcher/processes/spawn-plan.ts'
import { installPackages } from '../../../tools/launcher/services/install-packages.ts'
import { prepareLocalModel } from '../../../tools/launcher/services/local-model.ts'
import { startGateway } from '../../bench/targets/gateway.ts'
import { type CheckResult, outcomeOf, renderResults } from '../run-gate.ts'
import { REAL_CHECKS, type RealTarget } from './real-checks.ts'

type RealResult = Omit<CheckResult, 'subject'>

const LITELLM = { registry: 'pypi', versions: { 'litellm[proxy]': '1.108.7' } } as const
const LITELLM_MASTER_KEY = 'sk-gate'
const LITELLM_READY_TIMEOUT_MS = 180_000
/** Larger than the server's own, so that it is the server that refuses what does not fit. */
const CONTEXT_TOKENS = 32_768

/** @returns whether everything passed */
export async function runRealGate(guard: ProcessGuard, log: (line: string) => void): Promise<boolean> {
  const resources = new AsyncDisposableStack()
  try {
    return await checkTargets(resources, guard, log)
  } finally {
    await resources.disposeAsync()
  }
}

async function checkTargets(
  resources: AsyncDisposableStack,
  guard: ProcessGuard,
  log: (line: string) => void,
): Promise<boolean> {
  const start = async (plan: ProcessPlan) => {
    log(`starting ${plan.name} …`)
    const running = await spawnPlan(plan, { onSpawn: (pid) => guard.add(pid, 'sessions') })
    resources.defer(() => running.stop().finally(() => guard.remove(running.pid)))
  }
  const model = await prepareLocalModel(dataDirectory(ROOT, process.env), process.env)
  await start(model.plan)
  const folder = resources.adopt(await mkdtemp(join(tmpdir(), 'shuntyard-litellm-')), (path) =>
    rm(path, { recursive: true, force: true }),
  )
  const litellm = await prepareLitellm(folder, model.url, log)
  await start(litellm.plan)

  log('starting a gateway …')
  const gateway = await startGateway({
    name: 'real-gate',
    root: ROOT,
    catalog: catalogOf(model.url, litellm.url),
    isOneProcess: true,
    settings: { LITELLM_KEY: LITELLM_MASTER_KEY },
    guard,
    log,
  })
  resources.defer(gateway.stop)
  const key = gateway.headers.authorization!.replace('Bearer ', '')
  const through = (name: string, vendor: string): RealTarget => ({
    name,
    baseUrl: `${new URL(gateway.url).origin}/v2`,
    key,
    model: `${vendor}/${LOCAL_MODEL_NAME}`,
    embeddingsModel: `${vendor}/${LOCAL_MODEL_NAME}-embeddings`,
  })
  const direct: RealTarget = {
    name: 'llama.cpp, directly',
    baseUrl: `${model.url}/v1`,
    key: '',
    model: LOCAL_MODEL_NAME,
    embeddingsModel: LOCAL_MODEL_NAME,
  }
  const targets = [
    direct,
    through('llama.cpp, through the gateway', 'local'),
    through('LiteLLM before llama.cpp, through the gateway', 'litellm'),
  ]
  const results = new Map<string, RealResult[]>()
  for (const target of targets) {
    log(target.name)
    const found: RealResult[] = []
    for (const { name, run } of REAL_CHECKS) {
      const startedAt = performance.now()
      const outcome = await outcomeOf(run({ target, direct, serverUrl: model.url }))
      found.push({ name, ...outcome })
      log(`  ${outcome.outcome.padEnd(8)} ${name} (${((performance.now() - startedAt) / 1000).toFixed(1)} s)`)
    }
    results.set(target.name, found)
  }
  process.stdout.write(`${renderResults(results)}\n`)
  return [...results.values()].flat().every(({ outcome }) => outcome === 'passed')
}

/** The model at its server and, under `litellm/`, at the proxy. */
function catalogOf(modelUrl: string, litellmUrl: string) {
  const { providers = [], models = [] } = localModelCatalog(modelUrl)
  const wide = models.map((model) => ({ ...model, context_length: CONTEXT_TOKENS }))
  const behind = wide.map((model) => ({
    ...model,
    id: model.id.replace('local/', 'litellm/'),
    offers: [{ provider: 'litellm', upstream_model: LOCAL_MODEL_NAME }],
  }))
  const proxy = { id: 'litellm', name: 'LiteLLM', base_url: `${litellmUrl}/v1`, api_key_env: 'LITELLM_KEY' }
  return { replace: true, providers: [...providers, proxy], models: [...wide, ...behind] }
}

async function prepareLitellm(folder: string, modelUrl: string, log: (line: string) => void) {
  log('installing LiteLLM …')
  const { programs } = await installPackages(LITELLM)
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const model = { model: `openai/${LOCAL_MODEL_NAME}`, api_base: `${modelUrl}/v1`, api_key: 'none' }
  const config = {
    model_list: [{ model_name: LOCAL_MODEL_NAME, litellm_params: model }],
    general_settings: { master_key: LITELLM_MASTER_KEY },
  }
  // YAML takes JSON.
  const file = join(folder, 'config.yaml')
  await writeFile(file, JSON.stringify(config))
  const plan: ProcessPlan = {
    name: 'litellm',
    command: join(programs, 'litellm'),
    args: ['--config', file, '--host', '127.0.0.1', '--port', String(port)],
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      LITELLM_TELEMETRY: 'False',
    },
    stopSignal: 'SIGTERM',
    stopTimeoutMs: 5_000,
    readyTimeoutMs: LITELLM_READY_TIMEOUT_MS,
    probe: async (signal) => {
      const response = await fetch(`${url}/health/liveliness`, { signal })
      await response.body?.cancel()
      if (!response.ok) throw new Error(`LiteLLM responded with ${response.status}`)
    },
  }
  return { plan, url }
}
