import pino from 'pino'
import { readOverlay } from '../catalog/catalog-overlay.ts'
import { readConfig } from '../config.ts'
import type { CatalogSnapshot } from '../core/catalog/catalog.ts'
import { isoTime } from '../core/kernel/time.ts'
import { createAuditLog } from '../operations/audit-log.ts'
import { createRouterManagement } from '../operations/router-management.ts'
import { type LearningReport, learnVersion } from '../routing/learning/learn-version.ts'
import { createOutcomeStore } from '../routing/learning/outcome-store.ts'
import { createRouterVersions, type StoredVersion } from '../routing/learning/version-store.ts'
import { openCatalog } from './catalog-edits.ts'
import { withClients } from './clients.ts'
import { commandOperator } from './command-input.ts'
import type { CommandOutput } from './run-command.ts'

const NAME = 'switchyard-router'
const LISTED = 100
const LARGEST_CHANGES = 20

/** The router's versions, and the catalog without any of them. */
const withRouter = <Result>(
  environment: NodeJS.ProcessEnv,
  run: (parts: Awaited<ReturnType<typeof openRouter>>) => Promise<Result>,
): Promise<Result> => {
  const config = readConfig(environment)
  return withClients(config, NAME, async (clients) => run(await openRouter(config, environment, clients)))
}

async function openRouter(
  config: ReturnType<typeof readConfig>,
  environment: NodeJS.ProcessEnv,
  { postgres, redis }: Parameters<Parameters<typeof withClients>[2]>[0],
) {
  const logger = pino({ level: 'error' }, pino.destination({ dest: 2, sync: true }))
  const overlay = await readOverlay(redis)
  const { catalog } = await openCatalog(config, environment, overlay && { ...overlay, learned: null }, logger)
  const versions = createRouterVersions(postgres, redis)
  const { auditedAction } = createAuditLog(postgres, logger)
  return {
    ...{ catalog, versions, outcomes: createOutcomeStore(postgres) },
    management: createRouterManagement(versions, auditedAction, catalog.check),
  }
}

/** `router learn`: makes a version of the outcomes. Nothing changes until it is installed. */
export const learn = (
  environment: NodeJS.ProcessEnv,
  withEveryKey: (catalog: CatalogSnapshot) => CatalogSnapshot,
): Promise<CommandOutput> =>
  withRouter(environment, async ({ catalog, versions, outcomes }) => {
    const date = new Date().toISOString().slice(0, 10)
    const { autoLadder } = withEveryKey(catalog.snapshot())
    const learned = learnVersion(await outcomes.read(), autoLadder, date)
    if (learned === null)
      return {
        data: { version: null },
        text: 'There are no outcomes of known models yet, or too few, so there is nothing to learn.',
      }
    const version = await versions.add(learned, commandOperator().actor)
    const text = `${reportLines(learned.report)}\n\nStored as version ${version}. To use it: npm run router -- install ${version}`
    return { data: { version, report: learned.report }, text }
  })

/** `router versions`: newest first. */
export const listVersions = (environment: NodeJS.ProcessEnv): Promise<CommandOutput> =>
  withRouter(environment, async ({ versions }) => {
    const found = await versions.list(LISTED)
    const line = ({ id, createdAt, author, isInstalled, report }: StoredVersion) =>
      `${id.padStart(6)}  ${isoTime(createdAt)}  ${author}  ${report.pairs} pairs, ${report.feedback} feedback, ` +
      `${rankingOf(report)}${isInstalled ? '  installed' : ''}`
    return {
      data: { versions: found.map(versionView) },
      text: found.map(line).join('\n') || 'No version yet. The shipped router applies.',
    }
  })

/** `router compare A B`: the qualities in which two versions differ most, `shipped` being the router as delivered. */
export const compareVersions = (
  [one, other]: readonly [string, string],
  environment: NodeJS.ProcessEnv,
): Promise<CommandOutput> =>
  withRouter(environment, async ({ versions }) => {
    const [before = null, after = null] = await Promise.all(
      [one, other].map(async (id) => {
        if (id === 'shipped') return null
        const version = await versions.find(id)
        if (!version) throw new Error(`The router has no version ${JSON.stringify(id)}.`)
        return version
      }),
    )
    const [from, to] = [abilitiesOf(before), abilitiesOf(after)]
    const differences = [...new Set([...from.keys(), ...to.keys()])]
      .map((what) => {
        // A version without own figures for something has what the catalog expects, as the other one reports it.
        const expected = (from.get(what) ?? to.get(what))!.before
        return {
          what,
          from: from.get(what)?.after ?? expected,
          to: to.get(what)?.after ?? expected,
        }
      })
      .sort((a, b) => Math.abs(b.to - b.from) - Math.abs(a.to - a.from))
      .slice(0, LARGEST_CHANGES)
    const ranking = [before, after].map((version) =>
      version ? rankingOf(version.report) : 'shipped ranking',
    )
    const line = ({ what, from: a, to: b }: (typeof differences)[number]) =>
      `  ${what.padEnd(56)} ${signed(a)} → ${signed(b)}`
    return {
      data: { ranking, abilities: differences },
      text: [
        `${one}: ${ranking[0]}`,
        `${other}: ${ranking[1]}`,
        'abilities (log-odds):',
        ...differences.map(line),
      ].join('\n'),
    }
  })

/** `router install VERSION`. */
export const installVersion = (id: string, environment: NodeJS.ProcessEnv): Promise<CommandOutput> =>
  withRouter(environment, async ({ management }) => {
    await management.install(commandOperator(), id)
    return { data: { installed: id }, text: `Version ${id} applies now.` }
  })

/** `router rollback`. */
export const rollbackVersion = (environment: NodeJS.ProcessEnv): Promise<CommandOutput> =>
  withRouter(environment, async ({ management }) => {
    const installed = await management.rollback(commandOperator())
    const text =
      installed === null ? 'The shipped router applies again.' : `Version ${installed} applies again.`
    return { data: { installed }, text }
  })

const versionView = ({ content: _content, createdAt, installedAt, ...version }: StoredVersion) => ({
  ...version,
  createdAt: isoTime(createdAt),
  installedAt: installedAt && isoTime(installedAt),
})

const abilitiesOf = (version: StoredVersion | null) =>
  new Map(
    version?.report.quality.map(({ model, kind, before, after }) => [`${model} ${kind}`, { before, after }]),
  )

function reportLines({ feedback, pairs, accounts, gate, quality }: LearningReport): string {
  const largest = quality
    .toSorted((a, b) => Math.abs(b.after - b.before) - Math.abs(a.after - a.before))
    .slice(0, LARGEST_CHANGES)
  return [
    `${pairs} pairs and ${feedback} feedback of ${accounts} accounts`,
    rankingOf({ gate }),
    'quality by model and kind, the largest changes (log-odds):',
    ...largest.map(
      ({ model, kind, outcomes, before, after, value, standardError }) =>
        `  ${model.padEnd(40)} ${kind.padEnd(16)} ${signed(before)} → ${signed(after)}  (${value.toFixed(2)} ± ${standardError.toFixed(2)}, ${Math.round(outcomes)} outcomes)`,
    ),
  ].join('\n')
}

function rankingOf({ gate }: Pick<LearningReport, 'gate'>): string {
  if (gate.difference === null || gate.deviation === null)
    return `ranking unchanged: ${gate.pairs} usable pairs, at least 300 are needed`
  const measured = `${signed(gate.difference)} ± ${gate.deviation.toFixed(3)} of quality, mean over all shares of calls to the stronger model`
  return gate.passes ? `ranking learned: ${measured}` : `ranking unchanged, it would be worse: ${measured}`
}

const signed = (value: number): string => (value >= 0 ? '+' : '') + value.toFixed(3)
