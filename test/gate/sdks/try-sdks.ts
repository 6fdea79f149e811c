import { execFile } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { installPackages } from '../../../tools/launcher/services/install-packages.ts'
import {
  readSdkEvidence,
  renderSdks,
  SDK_EVIDENCE_FILE,
  SDK_ROWS,
  SDKS_PAGE,
  type SdkEvidence,
  type SdkOutcomes,
  withSdkTable,
} from './sdk-evidence.ts'
import { modelsOfSdk, NODE_SDKS, PYTHON_SDKS } from './sdk-packages.ts'

const NODE_PROGRAM = join(import.meta.dirname, 'node-sdks.mjs')
const PYTHON_PROGRAM = join(import.meta.dirname, 'python_sdks.py')
const RUN_TIMEOUT_MS = 120_000
const REASON_CHARS_MAX = 300
const run = promisify(execFile)

interface SdkAccess {
  url: string
  key: string
  png: string
  wav: string
}

/**
 * Calls the gateway through client libraries, and records what each did in the evidence and in the docs.
 * @param names of the libraries
 * @param png an image in base64; `wav` a recording
 * @returns whether everything that applies works
 */
export async function trySdks(
  names: readonly string[],
  access: SdkAccess,
  log: (line: string) => void,
): Promise<boolean> {
  const evidence: Record<string, SdkEvidence> = readSdkEvidence()
  for (const name of NODE_SDKS.names.filter((name) => names.includes(name))) {
    const { folder } = await installPackages({ registry: 'npm', versions: NODE_SDKS.versions })
    const outcomes = await call(process.execPath, [NODE_PROGRAM, name], name, access, { PACKAGES: folder })
    record(name, 'Node', NODE_SDKS.versions[name]!, outcomes)
  }
  for (const { name, versions } of PYTHON_SDKS.filter(({ name }) => names.includes(name))) {
    const { programs } = await installPackages({ registry: 'pypi', versions })
    const outcomes = await call(join(programs, 'python'), [PYTHON_PROGRAM, name], `python ${name}`, access)
    record(`${name} for Python`, 'Python', Object.values(versions)[0]!, outcomes)
  }
  await writeFile(SDK_EVIDENCE_FILE, `${JSON.stringify(evidence, null, 2)}\n`)
  await writeFile(SDKS_PAGE, withSdkTable(await readFile(SDKS_PAGE, 'utf8'), evidence))
  process.stdout.write(`${renderSdks(evidence)}\n`)
  return !Object.values(evidence).some(({ outcomes }) =>
    Object.values(outcomes).some((outcome) => outcome.startsWith('failed')),
  )

  function record(name: string, language: SdkEvidence['language'], version: string, outcomes: SdkOutcomes) {
    log(name)
    for (const row of SDK_ROWS) log(`  ${row.padEnd(12)} ${outcomes[row]}`)
    evidence[name] = { language, version, date: new Date().toISOString(), outcomes }
  }
}

/** Runs a program with one library. Every row fails if it does not end as it should. */
async function call(
  command: string,
  args: readonly string[],
  name: string,
  { url, key, png, wav }: SdkAccess,
  more: Record<string, string> = {},
): Promise<SdkOutcomes> {
  const env = {
    PATH: process.env.PATH,
    ADDRESS: url,
    API_KEY: key,
    PNG: png,
    WAV: wav,
    MODELS: JSON.stringify(modelsOfSdk(name)),
    ...more,
  }
  const found = await run(command, args, { timeout: RUN_TIMEOUT_MS, env }).then(
    ({ stdout }) => JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Partial<SdkOutcomes>,
    (error: Error): Partial<SdkOutcomes> => ({ plain: `failed: ${error.message}` }),
  )
  const outcomes = SDK_ROWS.map((row) => [row, short(found[row] ?? 'failed: it was not run')])
  return Object.fromEntries(outcomes) as SdkOutcomes
}

const short = (outcome: string): string => outcome.replace(/\s+/g, ' ').slice(0, REASON_CHARS_MAX)
