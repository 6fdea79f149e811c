import { isObject } from './json-object.ts'

export interface FunctionTool {
  name: string
  description: string | undefined
  /** JSON Schema of the arguments; null where the function takes none. */
  parameters: Record<string, unknown> | null
}

/** The functions among a request's tools. */
export function functionTools(tools: ReadonlyArray<Record<string, unknown>> | undefined): FunctionTool[] {
  return (tools ?? []).flatMap((tool) => {
    const definition = tool.function
    if (!isObject(definition) || typeof definition.name !== 'string') return []
    const { name, description, parameters } = definition
    return [
      {
        name,
        description: typeof description === 'string' ? description : undefined,
        parameters: isObject(parameters) ? parameters : null,
      },
    ]
  })
}
