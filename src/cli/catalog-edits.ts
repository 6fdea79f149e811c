import { readFile } from 'node:fs/promises'
import { createCatalogEdits, type StoredDocument } from '../catalog/catalog-edits-store.ts'
import { type CatalogOverlay, readOverlay } from '../catalog/catalog-overlay.ts'
import { createCatalogStore } from '../catalog/catalog-store.ts'
import { type RateEntry, readRateHistory } from '../catalog/rate-history-store.ts'
import { readConfig } from '../config.ts'
import { formatRate, picoUsdPerToken } from '../core/kernel/money.ts'
import { type CommandClients, openClients } from './clients.ts'
import type { CommandOutput } from './run-command.ts'

const HISTORY_MAX = 100
const authorOf = ({ USER }: NodeJS.ProcessEnv) => `operator at ${USER || 'the command line'}`

/** An overlay as it was read once, for a command. */
export const fixedOverlay = (overlay: CatalogOverlay | null) => ({
  current: () => overlay,
  onChange: () => () => undefined,
})

/** `catalog apply FILE`: makes a document the operator's edits, for the whole fleet. */
export async function applyEdits(path: string, environment: NodeJS.ProcessEnv): Promise<CommandOutput> {
  const content: unknown = JSON.parse(await readFile(path, 'utf8'))
  return withEdits(environment, async (edits) => describe(await edits.apply(content, authorOf(environment))))
}

/** `catalog revert VERSION`: makes earlier edits hold again. */
export const revertEdits = (version: string, environment: NodeJS.ProcessEnv): Promise<CommandOutput> =>
  withEdits(environment, async (edits) => {
    const reverted = await edits.revert(version, authorOf(environment))
    if (reverted === null) throw new Error(`There are no edits ${version}.`)
    return describe(reverted)
  })

/** `catalog edits`: all versions, newest first. */
export const listEdits = (environment: NodeJS.ProcessEnv): Promise<CommandOutput> =>
  withEdits(environment, async (edits) => {
    const versions = await edits.history(HISTORY_MAX)
    const line = ({ version, author, createdAt }: StoredDocument) =>
      `${version.padStart(6)}  ${createdAt.toISOString()}  ${author}`
    const data = versions.map(({ version, author, createdAt, content }) => ({
      version,
      author,
      created_at: createdAt.toISOString(),
      content,
    }))
    return { data: { edits: data }, text: versions.map(line).join('\n') || 'No edits yet.' }
  })

/** `catalog history MODEL`: the rates it had, newest first. */
export const showRateHistory = (modelId: string, environment: NodeJS.ProcessEnv): Promise<CommandOutput> =>
  withClients(environment, async ({ postgres }) => {
    const entries = await readRateHistory(postgres, modelId, HISTORY_MAX)
    const text = (rate: bigint) => formatRate(picoUsdPerToken(rate))
    const line = (entry: RateEntry) =>
      `${entry.effectiveAt.toISOString()}  ${entry.rateVersion}  ${text(entry.prompt)} / ${text(entry.completion)} USD per million tokens`
    const data = entries.map((entry) => ({
      effective_at: entry.effectiveAt.toISOString(),
      rate_version: entry.rateVersion,
      rate: { prompt: text(entry.prompt), completion: text(entry.completion) },
      list_price: { prompt: text(entry.listPrompt), completion: text(entry.listCompletion) },
      source: entry.source,
    }))
    return {
      data: { model: modelId, rates: data },
      text: entries.map(line).join('\n') || 'No rate is recorded.',
    }
  })

function withEdits(
  environment: NodeJS.ProcessEnv,
  run: (edits: ReturnType<typeof createCatalogEdits>) => Promise<CommandOutput>,
): Promise<CommandOutput> {
  return withClients(environment, async (clients) => {
    const redis = clients.redis()
    const overlay = fixedOverlay(await readOverlay(redis))
    const quiet = () => undefined
    const logger = { info: quiet, warn: quiet, error: quiet }
    const catalog = await createCatalogStore({
      ...readConfig(environment),
      environment,
      overlay,
      logger,
    })
    try {
      return await run(createCatalogEdits({ postgres: clients.postgres, redis, check: catalog.check }))
    } finally {
      catalog.close()
    }
  })
}

async function withClients(
  environment: NodeJS.ProcessEnv,
  run: (clients: CommandClients) => Promise<CommandOutput>,
): Promise<CommandOutput> {
  const clients = openClients(readConfig(environment), 'switchyard-catalog')
  try {
    return await run(clients)
  } finally {
    await clients.close()
  }
}

type Applied = Awaited<ReturnType<ReturnType<typeof createCatalogEdits>['apply']>>

function describe(applied: Applied): CommandOutput {
  switch (applied.kind) {
    case 'applied': {
      const { version } = applied.document
      const late = applied.announced ? '' : ' Redis is away; they are used once it is back.'
      return { data: { version, announced: applied.announced }, text: `Edits ${version} hold now.${late}` }
    }
    case 'problems': {
      const text = `Not applied:\n  ${applied.problems.join('\n  ')}`
      return { data: { error: 'the document is not valid', problems: applied.problems }, text, failed: true }
    }
    case 'conflict':
      return {
        data: { error: 'others applied edits meanwhile' },
        text: 'Others applied edits meanwhile.',
        failed: true,
      }
  }
}
