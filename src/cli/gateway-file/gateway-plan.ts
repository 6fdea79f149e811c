import { plannedEdits, readEdits, replaceEdits } from '../catalog-edits.ts'
import { UsageError } from '../run-command.ts'
import { accountChanges, accountEntry } from './account-plan.ts'
import {
  type Change,
  describe,
  differing,
  done,
  isEmpty,
  referenced,
  type PlanServices as Services,
} from './difference.ts'
import type { AlarmEntry, GatewayDocument } from './gateway-document.ts'
import { surfaceChanges } from './surface-changes.ts'

/**
 * What a file would change, in the order in which it is made. Throws UsageError for what cannot be done. Changes are made
 * by the operators' services, each audited; a plan that broke off is continued by the next.
 */
export async function planChanges(
  services: Services,
  document: GatewayDocument,
  environment: NodeJS.ProcessEnv,
): Promise<Change[]> {
  const { catalog, settings, surfaces, alarms, accounts = [] } = document
  const changes: Change[] = []
  if (catalog) changes.push(...(await catalogChanges(catalog, environment)))
  if (settings) changes.push(...(await settingChanges(services, settings)))
  if (surfaces)
    changes.push(...(await surfaceChanges(services, 'every account', surfaces, { everyAccount: true })))
  if (alarms) changes.push(...(await alarmChanges(services, alarms, environment)))
  for (const entry of accounts) changes.push(...(await accountChanges(services, entry, environment)))
  return changes
}

/** The state of the gateway as a file: without secrets, and of accounts the organisations. */
export async function exportDocument(
  services: Services,
  environment: NodeJS.ProcessEnv,
): Promise<GatewayDocument> {
  const { settings, surfaceManagement, alarmDestinations, organisations } = services
  const edits = await readEdits(environment)
  const grants = await surfaceManagement.list({ everyAccount: true })
  return {
    ...(edits && { catalog: edits.content as object }),
    settings: { provider_status_public: (await settings.read()).providerStatusPublic },
    surfaces: grants.map(({ surface }) => surface).sort(),
    alarms: (await alarmDestinations.list()).map(({ name, kind, targetHint, minimumSeverity, enabled }) => ({
      ...{ name, kind, minimum_severity: minimumSeverity, enabled },
      target: kind === 'email' ? targetHint : `env:${environmentName(name)}`,
    })),
    accounts: await Promise.all(
      (await organisations.list()).map((account) => accountEntry(services, account)),
    ),
  }
}

/** `Ops on call` → `OPS_ON_CALL`. */
const environmentName = (name: string) => name.toUpperCase().replace(/\W+/g, '_')

async function catalogChanges(catalog: object, environment: NodeJS.ProcessEnv): Promise<Change[]> {
  const version = (await readEdits(environment))?.version ?? null
  const { changes, problems } = await plannedEdits(catalog, environment)
  if (problems.length > 0) throw new UsageError(`The catalog is not valid:\n  ${problems.join('\n  ')}`)
  const apply = () => done(replaceEdits(catalog, version, environment))
  return changes.map((text, index) => ({
    text: `catalog ${text}`,
    // One document: all of its changes are made at once.
    make: index === 0 ? apply : async () => undefined,
  }))
}

async function settingChanges(
  { settings, operator }: Services,
  { provider_status_public: wanted }: NonNullable<GatewayDocument['settings']>,
): Promise<Change[]> {
  const { providerStatusPublic } = await settings.read()
  if (wanted === undefined || wanted === providerStatusPublic) return []
  const make = () => done(settings.change(operator, { providerStatusPublic: wanted }))
  return [{ text: `setting provider_status_public: ${providerStatusPublic} → ${wanted}`, make }]
}

async function alarmChanges(
  { alarmDestinations, operator }: Services,
  wanted: readonly AlarmEntry[],
  environment: NodeJS.ProcessEnv,
): Promise<Change[]> {
  const present = await alarmDestinations.list()
  const changes = wanted.flatMap(({ name, kind, target, url, ...entry }): Change[] => {
    const { minimum_severity: minimumSeverity = 'warning', enabled = true } = entry
    const found = present.find((other) => other.name === name && other.kind === kind)
    if (found) {
      const edit = differing({ minimumSeverity, enabled }, found)
      const make = () => done(alarmDestinations.change(operator, found.id, edit))
      return isEmpty(edit) ? [] : [{ text: `alarms to ${name}: ${describe(edit, found)}`, make }]
    }
    const given = {
      name,
      kind,
      target: referenced(target, environment),
      minimumSeverity,
      ...(url && { url }),
    }
    const create = async () => {
      const { id } = await alarmDestinations.create(operator, given)
      if (!enabled) await alarmDestinations.change(operator, id, { enabled })
    }
    const make = () => done(create())
    return [{ text: `alarms to ${name}: new, by ${kind}`, make }]
  })
  const removed = present.filter(
    (found) => !wanted.some(({ name, kind }) => name === found.name && kind === found.kind),
  )
  return [
    ...changes,
    ...removed.map(({ id, name }) => ({
      text: `alarms to ${name}: removed`,
      make: () => done(alarmDestinations.remove(operator, id)),
    })),
  ]
}
