import { DiagConsoleLogger, diag } from '@opentelemetry/api'
import {
  diagLogLevelFromString,
  getNumberFromEnv,
  getStringFromEnv,
  getStringListFromEnv,
} from '@opentelemetry/core'
import {
  defaultResource,
  detectResources,
  envDetector,
  hostDetector,
  osDetector,
  processDetector,
  type Resource,
  type ResourceDetector,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources'
import { StartError } from '../../core/kernel/errors.ts'

/** The level of OpenTelemetry's own log lines; it writes none unless it is set. */
export function readLogLevel(): void {
  const logLevel = getStringFromEnv('OTEL_LOG_LEVEL')
  if (logLevel !== undefined)
    diag.setLogger(new DiagConsoleLogger(), { logLevel: diagLogLevelFromString(logLevel) })
}

const DETECTORS: Record<string, ResourceDetector[]> = {
  serviceinstance: [serviceInstanceIdDetector],
  process: [processDetector],
  host: [hostDetector],
  os: [osDetector],
  env: [envDetector],
  none: [],
}

/** What OpenTelemetry says of this process with everything that it sends. */
export function readResource(serviceName: string): Resource {
  const names = getStringListFromEnv('OTEL_NODE_RESOURCE_DETECTORS') ?? ['all']
  const detectors = names.includes('all')
    ? Object.values(DETECTORS).flat()
    : names.flatMap((name) => choose(DETECTORS, 'OTEL_NODE_RESOURCE_DETECTORS', name))
  return defaultResource()
    .merge(detectResources({ detectors }))
    .merge(resourceFromAttributes({ 'service.name': serviceName }))
}

/**
 * Reads each number from the first of its variables that is set. If none is set or the value is below `least`: the
 * SDK's default.
 */
export function numbers<Name extends string>(
  least: number,
  variables: Record<Name, string[]>,
): { [name in Name]?: number } {
  const read: { [name in Name]?: number } = {}
  for (const name in variables) {
    const value = variables[name].map(getNumberFromEnv).find((number) => number !== undefined)
    if (value !== undefined && value >= least) read[name] = value
  }
  return read
}

/** Chooses by the protocol of OTLP for one signal, of which `http/protobuf` is the default. */
export function chooseProtocol<T>(table: Record<string, T>, signal: 'TRACES' | 'METRICS'): T {
  const own = `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`
  const variable = getStringFromEnv(own) === undefined ? 'OTEL_EXPORTER_OTLP_PROTOCOL' : own
  return choose(table, variable, getStringFromEnv(variable) ?? 'http/protobuf')
}

/** Chooses what a variable names. Throws StartError for a name that is not supported. */
export function choose<T>(table: Record<string, T>, variable: string, name: string): T {
  const chosen = Object.hasOwn(table, name) ? table[name] : undefined
  if (chosen !== undefined) return chosen
  throw new StartError(`${variable}: ${name} is not supported; use ${Object.keys(table).join(' or ')}`)
}
