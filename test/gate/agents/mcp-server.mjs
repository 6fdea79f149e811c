/**
 * An MCP server on standard streams with two tools: `record` appends a line to the file that its argument names, `refuse` fails.
 * The first record of the text `wait` is never answered, so that its agent can be interrupted in the middle of a call.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'

const file = process.argv[2]
const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
const TOOLS = [
  { name: 'record', description: 'Records a text.', inputSchema: text },
  { name: 'refuse', description: 'Fails.', inputSchema: text },
]
const said = (content, isError = false) => ({ content: [{ type: 'text', text: content }], isError })

/** The result of a method; undefined: it has none yet. */
function resultOf(method, params) {
  if (method === 'initialize')
    return {
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'gate', version: '1' },
    }
  if (method === 'tools/list') return { tools: TOOLS }
  if (method !== 'tools/call') return {}
  if (params.name === 'refuse') return said('This tool fails.', true)
  const before = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  appendFileSync(file, `${params.arguments.text}\n`)
  if (params.arguments.text === 'wait' && !before.includes('wait')) return undefined
  return said('Recorded.')
}

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  const result = id === undefined ? undefined : resultOf(method, params)
  if (result !== undefined) process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', id, result })}\n`)
}
