import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pngUrl } from './content-parts.ts'

export type AgentSurface = '/v2/chat/completions' | '/v2/messages' | '/v2/responses'

interface HistoryOptions {
  model: string
  /** Bytes of text, about. */
  textBytes: number
  /** At each turn the agent calls two tools at once. */
  turns: number
  /** Bytes of a screenshot besides the text; absent: none. */
  imageBytes?: number
  /** Absent: true. */
  stream?: boolean
  /** How many tools there are; absent: one. */
  tools?: number
}

const CODE = readFileSync(join(import.meta.dirname, '../../src/calls/worker/run-call.ts'), 'utf8')
const TOOL = {
  name: 'read_file',
  description: 'Reads a file.',
  parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
}
const TASK = 'Fix the bug.'

/** A tool with a schema of some length, as those of agents. */
const furtherTool = (index: number) => ({
  name: `tool_${index}`,
  description: `Does step ${index} of a task. ${CODE.slice(index * 50, index * 50 + 1_000)}`,
  parameters: {
    type: 'object',
    properties: Object.fromEntries(
      ['path', 'pattern', 'limit', 'reason'].map((name) => [
        name,
        { type: 'string', description: `The ${name} of step ${index}, absolute.`, minLength: 1 },
      ]),
    ),
    required: ['path'],
    additionalProperties: false,
  },
})

/** The body of an agent's call after many turns, with files as the results of its tools, as JSON of a wire. */
export function agentHistory(surface: AgentSurface, options: HistoryOptions): string {
  const { model, textBytes, turns, imageBytes, stream = true, tools: count = 1 } = options
  const tools = [TOOL, ...Array.from({ length: count - 1 }, (_, index) => furtherTool(index))]
  const resultChars = Math.floor(textBytes / turns / 2.4)
  const source = CODE.repeat(Math.ceil(resultChars / CODE.length) + 1)
  const calls = Array.from({ length: turns }, (_, turn) =>
    ['a', 'b'].map((letter, index) => ({
      id: `call_${turn}${letter}`,
      input: { path: `src/file-${turn}-${letter}.ts` },
      output: source.slice((turn + index) % 50, ((turn + index) % 50) + resultChars),
    })),
  )
  const image = imageBytes && pngUrl(1024, 1024).padEnd(imageBytes - (imageBytes % 4), 'A')
  const common = { model, stream }
  switch (surface) {
    case '/v2/chat/completions':
      return JSON.stringify({
        ...common,
        max_tokens: 8,
        tools: tools.map((tool) => ({ type: 'function', function: tool })),
        messages: [
          {
            role: 'user',
            content: image
              ? [
                  { type: 'text', text: TASK },
                  { type: 'image_url', image_url: { url: image } },
                ]
              : TASK,
          },
          ...calls.flatMap((pair) => [
            {
              role: 'assistant',
              content: null,
              tool_calls: pair.map(({ id, input }) => ({
                id,
                type: 'function',
                function: { name: TOOL.name, arguments: JSON.stringify(input) },
              })),
            },
            ...pair.map(({ id, output }) => ({ role: 'tool', tool_call_id: id, content: output })),
          ]),
        ],
      })
    case '/v2/messages': {
      const [, data = ''] = (image || '').split(',')
      const source = {
        type: 'base64',
        media_type: 'image/png',
        data: data.slice(0, data.length - (data.length % 4)),
      }
      return JSON.stringify({
        ...common,
        max_tokens: 8,
        tools: tools.map(({ parameters, ...tool }) => ({ ...tool, input_schema: parameters })),
        messages: [
          {
            role: 'user',
            content: [{ type: 'text', text: TASK }, ...(image ? [{ type: 'image', source }] : [])],
          },
          ...calls.flatMap((pair) => [
            {
              role: 'assistant',
              content: pair.map(({ id, input }) => ({ type: 'tool_use', id, name: TOOL.name, input })),
            },
            {
              role: 'user',
              content: pair.map(({ id, output }) => ({
                type: 'tool_result',
                tool_use_id: id,
                content: output,
              })),
            },
          ]),
        ],
      })
    }
    case '/v2/responses':
      return JSON.stringify({
        ...common,
        store: false,
        max_output_tokens: 16,
        tools: tools.map((tool) => ({ type: 'function', ...tool })),
        input: [
          {
            type: 'message',
            role: 'user',
            content: [
              { type: 'input_text', text: TASK },
              ...(image ? [{ type: 'input_image', image_url: image }] : []),
            ],
          },
          ...calls.flatMap((pair) => [
            ...pair.map(({ id, input }) => ({
              type: 'function_call',
              call_id: id,
              name: TOOL.name,
              arguments: JSON.stringify(input),
            })),
            ...pair.map(({ id, output }) => ({ type: 'function_call_output', call_id: id, output })),
          ]),
        ],
      })
    default:
      return surface satisfies never
  }
}
