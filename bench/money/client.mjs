import { randomUUID } from 'node:crypto'

const DEADLINE_MS = 60_000

/** A streamed call with a directive for the simulated provider. `hangUpAfter`: tokens after which the client is gone. */
export async function call(
  gateway,
  key,
  directive,
  { instance = 0, headers = {}, hangUpAfter, onToken, stream = true } = {},
) {
  const id = directive.id ?? randomUUID()
  const controller = new AbortController()
  const timer = setTimeout(() => controller.abort(), DEADLINE_MS)
  let received = 0
  try {
    const response = await fetch(`${gateway.urls[instance % gateway.urls.length]}/v1/chat/completions`, {
      method: 'POST',
      signal: controller.signal,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, ...headers },
      body: JSON.stringify({
        model: gateway.model,
        stream,
        ...(stream && { stream_options: { include_usage: true } }),
        max_tokens: directive.maxTokens ?? directive.tokens ?? 50,
        messages: [{ role: 'user', content: JSON.stringify({ ...directive, id }) }],
      }),
    })
    if (!response.ok)
      return { id, status: response.status, received, text: (await response.text()).slice(0, 200) }
    const decoder = new TextDecoder()
    let text = ''
    for await (const bytes of response.body) {
      text += decoder.decode(bytes, { stream: true })
      received = (text.match(/"content": ?" a/g) ?? []).length
      if (received > 0) onToken?.(received)
      if (hangUpAfter !== undefined && received >= hangUpAfter) {
        controller.abort()
        return { id, status: 200, received, complete: false }
      }
    }
    const complete = !stream || text.includes('[DONE]')
    return { id, status: 200, received, complete, failed: /"error"/.test(text) }
  } catch (error) {
    return { id, status: 0, received, complete: false, text: error.cause?.code ?? error.message }
  } finally {
    clearTimeout(timer)
  }
}

export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** What a key has spent once it is `right`, or once it has not been for `settleMs`. */
export async function settled(gateway, account, right) {
  const [least] = Array.isArray(right) ? right : [right]
  const until = Date.now() + gateway.settleMs
  let spent = 0
  do {
    spent = await gateway.spent(account).catch(() => spent)
    if (spent >= least * 0.98 && least > 0) {
      // A second charge would come after the first.
      await pause(gateway.settleMs / 4)
      return gateway.spent(account)
    }
    await pause(Math.min(500, gateway.settleMs))
  } while (Date.now() < until)
  return spent
}
