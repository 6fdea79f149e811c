import { Histogram, type Registry } from 'prom-client'

/**
 * The client metrics of the OpenTelemetry conventions for generative AI, as Prometheus histograms. They are the one
 * source of both: Prometheus scrapes them, and `metric-pipeline.ts` sends them over OTLP by their names there. Source:
 * OpenTelemetry semantic conventions, "Semantic conventions for generative AI metrics".
 */
export const GEN_AI_HISTOGRAMS = [
  {
    name: 'gen_ai.client.operation.duration',
    prometheusName: 'gen_ai_client_operation_duration_seconds',
    unit: 's',
    description: 'GenAI operation duration.',
    buckets: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  },
  {
    name: 'gen_ai.client.token.usage',
    prometheusName: 'gen_ai_client_token_usage',
    unit: '{token}',
    description: 'Number of input and output tokens used.',
    buckets: Array.from({ length: 14 }, (_, power) => 4 ** power),
  },
] as const

/** Attributes of an operation, of which the labels are the names with underscores. */
const ATTRIBUTES = [
  'gen_ai.operation.name',
  'gen_ai.provider.name',
  'gen_ai.request.model',
  'gen_ai.token.type',
  'server.address',
  'server.port',
  'error.type',
] as const

const labelOf = (attribute: string): string => attribute.replaceAll('.', '_')

export const ATTRIBUTE_OF_LABEL: ReadonlyMap<string, string> = new Map(
  ATTRIBUTES.map((attribute) => [labelOf(attribute), attribute]),
)

/** The attributes that an operation has from its start. */
export interface OperationAttributes {
  'gen_ai.operation.name': string
  'gen_ai.provider.name': string
  'gen_ai.request.model': string
  'server.address': string
  'server.port': number
}

/** An operation that is over. */
export interface EndedOperation {
  attributes: OperationAttributes
  durationMs: number
  /** Null if it succeeded. */
  errorType: string | null
  /** As the provider reported it; null: nothing. */
  usage: { promptTokens: number; completionTokens: number } | null
}

/** The most models with series of their own, which bounds the time of a scrape; others share the model `other`. */
const MODELS_MAX = 100

/** Records operations of generative AI. In memory only. */
export function createGenAiMetrics(registry: Registry): (operation: EndedOperation) => void {
  const [duration, tokens] = GEN_AI_HISTOGRAMS.map(
    ({ prometheusName, description, buckets }) =>
      new Histogram({
        name: prometheusName,
        help: description,
        labelNames: [...ATTRIBUTE_OF_LABEL.keys()],
        buckets: [...buckets],
        registers: [registry],
      }),
  ) as [Histogram, Histogram]
  const models = new Set<string>()
  return ({ attributes, durationMs, errorType, usage }) => {
    const model = attributes['gen_ai.request.model']
    if (models.size < MODELS_MAX) models.add(model)
    const labels = {
      gen_ai_operation_name: attributes['gen_ai.operation.name'],
      gen_ai_provider_name: attributes['gen_ai.provider.name'],
      gen_ai_request_model: models.has(model) ? model : 'other',
      server_address: attributes['server.address'],
      server_port: attributes['server.port'],
    }
    duration.observe(errorType === null ? labels : { ...labels, error_type: errorType }, durationMs / 1000)
    if (usage === null) return
    tokens.observe({ ...labels, gen_ai_token_type: 'input' }, usage.promptTokens)
    tokens.observe({ ...labels, gen_ai_token_type: 'output' }, usage.completionTokens)
  }
}
