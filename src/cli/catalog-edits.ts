import { readFile } from 'node:fs/promises'
import pino from 'pino'
import { type CatalogEdits, createCatalogEdits, type StoredDocument } from '../catalog/catalog-edits-store.ts'
import { type CatalogOverlay, readOverlay } from '../catalog/catalog-overlay.ts'
import { type CatalogLogger, createCatalogStore } from '../catalog/catalog-store.ts'
import { createPlatformKeys } from '../catalog/platform-keys.ts'
import { type RateEntry, readRateHistory } from '../catalog/rate-history-store.ts'
import { type Config, readConfig } from '../config.ts'
import { documentChanges } from '../core/catalog/document-changes.ts'
import { formatRate, picoUsdPerToken } from '../core/kernel/money.ts'
import { isoTime } from '../core/kernel/time.ts'
import { editsView } from '../http/admin/catalog-routes.ts'
import { type AuditedAction, createAuditLog } from '../operators/audit-log.ts'
import {
  type AnnouncedEdits,
  type CatalogManagement,
  createCatalogManagement,
} from '../operators/catalog-management.ts'
import { withClients } from './clients.ts'
import { commandOperator } from './command-input.ts'
import type { CommandOutput } from './run-command.ts'

const NAME = 'shuntyard-catalog'
const HISTORY_MAX = 100

/** The catalog of a command with the overlay as it is now. It follows nothing. */
export async function openCatalog(
  config: Config,
  environment: NodeJS.ProcessEnv,
  current: CatalogOverlay | null,
  logger: CatalogLogger,
) {
  const overlay = { current: () => current, onChange: () => () => undefined }
  const platformKeys = createPlatformKeys({ ...config, environment, overlay, logger })
  const catalog = await createCatalogStore({ ...config, platformKeys, overlay, logger })
  catalog.close()
  return { catalog, platformKeys }
}

/** The output for an invalid catalog document. */
export const invalidDocument = (what: string, headline: string, problems: string[]): CommandOutput => ({
  data: { error: `the ${what} is not valid`, problems },
  text: `${headline}:\n  ${problems.join('\n  ')}`,
  failed: true,
})

/** `catalog apply FILE`: makes a document the operator's edits of the whole fleet. */
export async function applyEdits(path: string, environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const content: unknown = JSON.parse(await readFile(path, 'utf8'))
  return withEdits(environment, async ({ management }) => {
    const checked = management.check(content)
    if (checked.kind === 'problems') return invalidDocument('document', 'Not applied', checked.problems)
    return describe(await management.applyEdits(commandOperator(), content))
  })
}

/** The values that a document would change, a line each, after a check of it. */
export const plannedEdits = (
  content: unknown,
  environment: NodeJS.ProcessEnv,
): Promise<{ changes: string[]; problems: string[] }> =>
  withEdits(environment, async ({ edits, management }) => {
    const checked = management.check(content)
    if (checked.kind === 'problems') return { changes: [], problems: checked.problems }
    return { changes: documentChanges((await edits.current())?.content, content), problems: [] }
  })

/** The operators' edits in use; null: none, or no database is set. */
export const readEdits = async (environment: NodeJS.ProcessEnv): Promise<StoredDocument | null> =>
  environment.DATABASE_URL ? withEdits(environment, ({ edits }) => edits.current()) : null

/** Makes a document the operators' edits if those of `expectedVersion` still are, and returns its version. */
export const replaceEdits = (
  content: unknown,
  expectedVersion: string | null,
  environment: NodeJS.ProcessEnv,
): Promise<string> =>
  withEdits(environment, async ({ management }) => {
    const { document } = await management.applyEdits(commandOperator(), content, expectedVersion)
    return document.version
  })

/** `catalog revert VERSION`: makes earlier edits current again. */
export const revertEdits = (version: string, environment: NodeJS.ProcessEnv): Promise<CommandOutput> =>
  withEdits(environment, async ({ management }) =>
    describe(await management.revertEdits(commandOperator(), version)),
  )

/** `catalog edits`: all versions, newest first. */
export const listEdits = (environment: NodeJS.ProcessEnv): Promise<CommandOutput> =>
  withEdits(environment, async ({ edits }) => {
    const versions = await edits.history(HISTORY_MAX)
    const line = ({ version, author, createdAt }: StoredDocument) =>
      `${version.padStart(6)}  ${isoTime(createdAt)}  ${author}`
    return {
      data: { edits: versions.map(editsView) },
      text: versions.map(line).join('\n') || 'No edits yet.',
    }
  })

/** Records what a command did in the audit log; nowhere without a database. */
export async function recordAction(action: AuditedAction, environment: NodeJS.ProcessEnv): Promise<void> {
  if (!environment.DATABASE_URL) return
  await withClients(readConfig(environment), NAME, ({ postgres }) =>
    createAuditLog(postgres, pino({ level: 'silent' })).auditedAction(
      commandOperator(),
      action,
      async () => undefined,
    ),
  )
}

/** `catalog history MODEL`: the rates of a model, newest first. */
export const showRateHistory = (modelId: string, environment: NodeJS.ProcessEnv): Promise<CommandOutput> =>
  withClients(readConfig(environment), NAME, async ({ postgres }) => {
    const entries = await readRateHistory(postgres, modelId, HISTORY_MAX)
    const text = (rate: bigint) => formatRate(picoUsdPerToken(rate))
    const ofUnits = (rate: bigint | null) => (rate === null ? {} : { units: text(rate) })
    const line = (entry: RateEntry) =>
      `${isoTime(entry.effectiveAt)}  ${entry.rateVersion}  ${text(entry.prompt)} / ${text(entry.completion)} USD per million tokens` +
      `${entry.units === null ? '' : `, ${text(entry.units)} per million units`}`
    const data = entries.map((entry) => ({
      effective_at: isoTime(entry.effectiveAt),
      rate_version: entry.rateVersion,
      rate: { prompt: text(entry.prompt), completion: text(entry.completion), ...ofUnits(entry.units) },
      list_price: {
        prompt: text(entry.listPrompt),
        completion: text(entry.listCompletion),
        ...ofUnits(entry.listUnits),
      },
      source: entry.source,
    }))
    return {
      data: { model: modelId, rates: data },
      text: entries.map(line).join('\n') || 'No rate is recorded.',
    }
  })

interface EditsContext {
  edits: CatalogEdits
  management: CatalogManagement
}

function withEdits<Result>(
  environment: NodeJS.ProcessEnv,
  run: (context: EditsContext) => Promise<Result>,
): Promise<Result> {
  const config = readConfig(environment)
  return withClients(config, NAME, async ({ postgres, redis }) => {
    const logger = pino({ level: 'silent' })
    const { catalog } = await openCatalog(config, environment, await readOverlay(redis), logger)
    const edits = createCatalogEdits(postgres, redis)
    const { auditedAction } = createAuditLog(postgres, logger)
    const management = createCatalogManagement(edits, auditedAction, { check: catalog.check })
    return run({ edits, management })
  })
}

function describe({ document: { version }, announced }: AnnouncedEdits): CommandOutput {
  const late = announced ? '' : ' Redis is unavailable; they are used once it is back.'
  return { data: { version, announced }, text: `Edits ${version} are in use now.${late}` }
}
