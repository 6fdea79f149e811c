import type { Registry } from 'prom-client'
import { setTracing } from './tracing.ts'

/** Whether the environment variables enable a signal of OpenTelemetry. If not, nothing of it is loaded. */
export function wants(
  signal: 'TRACES' | 'METRICS',
  environment: Record<string, string | undefined>,
): boolean {
  if (environment.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false
  const exporter = environment[`OTEL_${signal}_EXPORTER`]
  if (exporter) return exporter !== 'none'
  const { OTEL_EXPORTER_OTLP_ENDPOINT: ofAll, [`OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`]: own } = environment
  return Boolean(ofAll || own)
}

const serviceName = (role: string, environment: Record<string, string | undefined>): string =>
  environment.OTEL_SERVICE_NAME || `shuntyard-${role}`

/**
 * Starts OpenTelemetry for this process if the environment enables it. Exporter, protocol, headers, sampler, batches
 * and resource follow the OTEL_* variables.
 */
export async function startTracing(
  role: string,
  environment: Record<string, string | undefined>,
): Promise<{ stop(): Promise<void> }> {
  if (!wants('TRACES', environment)) return { stop: async () => undefined }
  // Loaded on use, so that a process without traces does not pay for it.
  const { startTracePipeline } = await import('./trace-pipeline.ts')
  const pipeline = startTracePipeline(serviceName(role, environment))
  setTracing(true)
  return {
    async stop() {
      setTracing(false)
      // An unreachable collector must not delay the end of the process.
      await pipeline.shutdown().catch(() => undefined)
    },
  }
}

/**
 * Starts to send the metrics of generative AI over OTLP if the environment enables it. Prometheus has them, too, and
 * all others.
 */
export async function startMetricExport(
  role: string,
  environment: Record<string, string | undefined>,
  registries: () => readonly Registry[],
): Promise<{ stop(): Promise<void> }> {
  if (!wants('METRICS', environment)) return { stop: async () => undefined }
  const { startMetricPipeline } = await import('./metric-pipeline.ts')
  const pipeline = startMetricPipeline(serviceName(role, environment), registries)
  return { stop: () => pipeline.shutdown().catch(() => undefined) }
}
