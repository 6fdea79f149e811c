import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { stringify } from 'yaml'
import { withServices } from './admin.ts'
import type { PlanServices } from './gateway-file/difference.ts'
import {
  DOCUMENT_SCHEMA,
  type GatewayDocument,
  readGatewayDocument,
} from './gateway-file/gateway-document.ts'
import { exportDocument, planChanges } from './gateway-file/gateway-plan.ts'
import { type CommandOutput, runAsProcess, UsageError } from './run-command.ts'

const USAGE = `Usage: shuntyard apply -f FILE [--dry-run] [--json]
       shuntyard apply --schema
       shuntyard export

apply makes the gateway what a file says, YAML or JSON: catalog, settings, surfaces, alarms, and of accounts their
limits, members and keys. What the file does not have stays as it is; a second run changes nothing. --dry-run prints
what would change, and fails if anything would. Secrets of new keys are printed once.
export prints such a file of what is there, without secrets: everything but the accounts of persons.
--schema prints the file's JSON Schema.`

/** `npm run apply -- -f FILE [--dry-run]` and `npm run export`: the gateway as one file. */
export async function gatewayFile(args: string[], environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const [command, ...given] = args
  const { values } = parseArgs({
    args: given,
    options: {
      file: { type: 'string', short: 'f' },
      'dry-run': { type: 'boolean' },
      schema: { type: 'boolean' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  })
  if (values.schema) return { data: DOCUMENT_SCHEMA, text: JSON.stringify(DOCUMENT_SCHEMA, null, 2) }
  if (command === 'export' && !values.help) {
    const document = await withServices(environment, (services) => exportDocument(services, environment))
    return { data: document, text: stringify(document).trimEnd() }
  }
  if (command !== 'apply' || values.file === undefined || values.help) throw new UsageError(USAGE)
  const document = readGatewayDocument(await readFile(values.file, 'utf8'))
  const isDryRun = values['dry-run'] === true
  return withServices(environment, (services) => applyDocument(services, document, isDryRun, environment))
}

/** Makes the gateway what a document says, or says what would change. */
export async function applyDocument(
  services: PlanServices,
  document: GatewayDocument,
  isDryRun: boolean,
  environment: NodeJS.ProcessEnv,
): Promise<CommandOutput> {
  const changes = await planChanges(services, document, environment)
  const made: Array<{ change: string; secret?: string }> = []
  for (const { text: change, make } of isDryRun ? [] : changes) {
    const secret = await make().catch((cause: Error) => {
      throw new Error(`${change}: ${cause.message}\n${made.length} of ${changes.length} changes were made.`, {
        cause,
      })
    })
    made.push({ change, ...(secret && { secret }) })
  }
  const planned = isDryRun ? changes.map(({ text }) => ({ change: text })) : made
  const lines = planned.map((line) =>
    [line.change, 'secret' in line && line.secret].filter(Boolean).join('  '),
  )
  return {
    data: { applied: !isDryRun, changes: planned },
    text: lines.join('\n') || 'Nothing to change.',
    failed: isDryRun && changes.length > 0,
  }
}

if (import.meta.main) await runAsProcess(gatewayFile)
