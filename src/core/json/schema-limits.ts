import type { SamplingParameters } from '../calls/chat-request.ts'
import type { Wire } from '../catalog/catalog.ts'
import { type ApiError, invalid } from '../kernel/errors.ts'
import { oncePer } from '../kernel/once-per.ts'
import {
  openApiSchema,
  REFERENCES_DEEP,
  RESOLVED_CHARS_MAX,
  SchemaBudget,
  SchemaTooLarge,
} from './openapi-schema.ts'

/** Wires without references; schemas are sent to them with every reference resolved. */
export const resolvesReferences = (wire: Wire): boolean => wire === 'google-generate-content'

/**
 * The field whose schemas grow too large when their references are resolved, or null. Runs the conversion
 * itself, so a plan that passes cannot fail in it. Takes a few milliseconds at most, once for each request.
 */
export const tooLargeSchema = oncePer(
  ({ tools, response_format: format }: Pick<SamplingParameters, 'tools' | 'response_format'>) => {
    const named = format?.json_schema as { schema?: unknown } | null | undefined
    if (!isConvertible([named?.schema])) return 'response_format.json_schema.schema'
    const parameters = (tools ?? []).map(
      (tool) => (tool.function as { parameters?: unknown } | null)?.parameters,
    )
    return isConvertible(parameters) ? null : 'tools'
  },
)

/** The error for a request that no offer can serve because of its schemas. */
export const schemaTooLarge = (field: string): ApiError =>
  invalid(
    field,
    `The schemas in \`${field}\` are too large for every eligible model once their references are resolved: they may be about ${RESOLVED_CHARS_MAX} characters then, and ${REFERENCES_DEEP} references within each other. Shorten them, or use fewer references.`,
  )

/** Schemas of one field share a budget. */
function isConvertible(schemas: readonly unknown[]): boolean {
  const budget = new SchemaBudget()
  try {
    for (const schema of schemas) openApiSchema(schema, budget)
    return true
  } catch (error) {
    if (error instanceof SchemaTooLarge) return false
    throw error
  }
}
