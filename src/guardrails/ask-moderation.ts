import { isObject } from '../core/json/json-object.ts'
import type { AskGuardrail } from './adapter.ts'

/** An address that answers as POST /v1/moderations does. Denies texts that are flagged, for some categories or any. */
export const askModeration: AskGuardrail = async (texts, { url, secret, settings, post }) => {
  const { model, categories = [] } = settings
  const body = JSON.stringify({ ...(model !== undefined && { model }), input: texts })
  const answer: unknown = JSON.parse(await post(url, body, bearer(secret)))
  const results = isObject(answer) ? answer.results : null
  if (!Array.isArray(results) || results.length !== texts.length)
    throw new Error('it has not one result for each text')
  const flagged = new Set<string>()
  for (const result of results) {
    if (!isObject(result) || typeof result.flagged !== 'boolean' || !isObject(result.categories))
      throw new Error('a result has no `flagged` or no `categories`')
    for (const [name, isFlagged] of Object.entries(result.categories))
      if (isFlagged === true) flagged.add(name)
    if (result.flagged && flagged.size === 0) flagged.add('flagged')
  }
  const chosen = [...flagged].filter((name) => categories.length === 0 || categories.includes(name))
  if (chosen.length === 0) return { action: 'allow' }
  return { action: 'deny', code: 'flagged', message: `${chosen.join(', ')}.` }
}

/** The header with the key that a service asks for. */
export const bearer = (secret: string | null): Record<string, string> =>
  secret === null ? {} : { authorization: `Bearer ${secret}` }
