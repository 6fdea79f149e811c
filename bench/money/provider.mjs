/**
 * A simulated provider, OpenAI-compatible, on loopback. The last message of a request is a JSON directive:
 * `{id, tokens, delayMs, usage, preamble}`. `usage`: `right`, `absurd`, `missing`, `late` (after the finish, and after a
 * pause) or `overlapping` (a running total in every chunk). Every token is the word " a". `made` has what it produced by id.
 */
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

export const PROMPT_TOKENS = 10
const ABSURD = 987_654_321
const LATE_MS = 500

/** The usage that a directive makes the provider report after `tokens`; null: none. */
export function reportedUsage(usage, tokens) {
  if (usage === 'missing') return null
  const completion = usage === 'absurd' ? ABSURD : tokens
  return {
    prompt_tokens: PROMPT_TOKENS,
    completion_tokens: completion,
    total_tokens: PROMPT_TOKENS + completion,
  }
}

export async function startProvider() {
  const made = new Map()
  const server = createServer(async (request, response) => {
    const chunks = []
    for await (const chunk of request) chunks.push(chunk)
    if (request.method === 'GET')
      return void response.end('{"object":"list","data":[{"id":"sim","object":"model"}]}')
    const body = JSON.parse(Buffer.concat(chunks).toString())
    const directive = directiveOf(body)
    const record = { tokens: 0, closed: false }
    made.set(directive.id, [...(made.get(directive.id) ?? []), record])
    response.on('close', () => {
      record.closed = !response.writableFinished
    })
    const write = (data) =>
      response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`)
    const limit = Math.min(directive.tokens, body.max_tokens ?? body.max_completion_tokens ?? Infinity)
    const head = { id: `chatcmpl-${directive.id}`, created: 1, model: body.model }
    if (!body.stream) {
      await sleep(limit * directive.delayMs)
      record.tokens = limit
      response.setHeader('content-type', 'application/json')
      const message = { role: 'assistant', content: ' a'.repeat(limit) }
      const usage = reportedUsage(directive.usage, limit)
      const choices = [{ index: 0, message, finish_reason: 'stop' }]
      return void response.end(
        JSON.stringify({ ...head, object: 'chat.completion', choices, ...(usage && { usage }) }),
      )
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const chunk = (delta, more = {}) =>
      write({
        ...head,
        object: 'chat.completion.chunk',
        choices: [{ index: 0, delta, finish_reason: null }],
        ...more,
      })
    if (directive.preamble) {
      response.write(': PROCESSING\n\n')
      write({ ...head, object: 'chat.completion.chunk', choices: [], prompt_filter_results: [] })
      chunk({ role: 'assistant', content: '' }, { usage: reportedUsage('right', 0) })
      await sleep(50)
    }
    while (record.tokens < limit && !record.closed) {
      record.tokens += 1
      const usage = directive.usage === 'overlapping' ? { usage: reportedUsage('right', record.tokens) } : {}
      chunk({ content: ' a' }, usage)
      if (directive.delayMs > 0) await sleep(directive.delayMs)
    }
    if (record.closed) return
    write({
      ...head,
      object: 'chat.completion.chunk',
      choices: [{ index: 0, delta: {}, finish_reason: 'stop' }],
    })
    if (directive.usage === 'late') await sleep(LATE_MS)
    const usage = reportedUsage(directive.usage, record.tokens)
    if (usage) write({ ...head, object: 'chat.completion.chunk', choices: [], usage })
    write('[DONE]')
    response.end()
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${server.address().port}/v1`
  const tokensOf = (id) => (made.get(id) ?? []).reduce((sum, { tokens }) => sum + tokens, 0)
  const close = () => {
    server.closeAllConnections()
    server.close()
  }
  return { url, made, tokensOf, close }
}

function directiveOf({ messages }) {
  const { content } = messages.at(-1)
  const text = typeof content === 'string' ? content : content.map(({ text }) => text).join('')
  return { tokens: 50, delayMs: 0, usage: 'right', preamble: false, ...JSON.parse(text) }
}
