import { readFile } from 'node:fs/promises'
import type { Logger } from '../../platform/observability/logger.ts'
import { withServices } from '../admin.ts'
import { readGatewayDocument } from './gateway-document.ts'
import { planChanges } from './gateway-plan.ts'

/** What `apply` would change, line by line. Throws if the file cannot be read. */
export async function driftFrom(file: string, environment: NodeJS.ProcessEnv): Promise<string[]> {
  const document = readGatewayDocument(await readFile(file, 'utf8'))
  return withServices(environment, async (services) =>
    (await planChanges(services, document, environment)).map(({ text }) => text),
  )
}

/** Raises the alarm configuration-drift, or ends it. Throws as `driftFrom`. */
export async function reportDrift(
  file: string,
  environment: NodeJS.ProcessEnv,
  logger: Pick<Logger, 'info' | 'warn'>,
): Promise<void> {
  const changes = await driftFrom(file, environment)
  if (changes.length === 0)
    return logger.info({ alarmsOver: ['configuration-drift'] }, 'gateway is what its file says')
  const drift = { differences: changes.length, first: changes[0] }
  logger.warn({ alarm: 'configuration-drift', ...drift }, 'gateway differs from its file')
}
