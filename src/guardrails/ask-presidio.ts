import { isObject } from '../core/json/json-object.ts'
import type { AskGuardrail } from './adapter.ts'
import { bearer } from './ask-moderation.ts'

const LANGUAGE = 'en'
const SCORE_THRESHOLD = 0.5
/** Texts that are analysed at a time. */
const AT_ONCE = 4

/** A part of a text that Presidio names. Its places count code points, as Python does. */
interface Found {
  entity: string
  start: number
  end: number
  score: number
}

/** The analyzer of Presidio: finds personal data, and replaces it by its kinds, or denies. */
export const askPresidio: AskGuardrail = async (texts, { url, secret, settings, mayReplace, post }) => {
  const { language = LANGUAGE, score_threshold = SCORE_THRESHOLD, entities = [] } = settings
  const asked = { language, score_threshold, ...(entities.length > 0 && { entities }) }
  const address = `${url.replace(/\/+$/, '')}/analyze`
  const found: Found[][] = []
  const waiting = [...texts.entries()]
  const analyse = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [index, text] = next
      const answer = await post(address, JSON.stringify({ text, ...asked }), bearer(secret))
      found[index] = readFound(JSON.parse(answer))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, analyse))
  const kinds = new Set(found.flatMap((parts) => parts.map(({ entity }) => entity)))
  if (kinds.size === 0) return { action: 'allow' }
  if (!mayReplace) return { action: 'deny', code: 'personal-data', message: `${[...kinds].join(', ')}.` }
  return { action: 'replace', texts: texts.map((text, index) => withoutParts(text, found[index]!)) }
}

function readFound(answer: unknown): Found[] {
  if (!Array.isArray(answer)) throw new Error('the answer is no list')
  return answer.map((part) => {
    const { entity_type: entity, start, end, score } = isObject(part) ? part : {}
    const isPlace = Number.isSafeInteger(start) && Number.isSafeInteger(end)
    if (typeof entity !== 'string' || typeof score !== 'number' || !isPlace)
      throw new Error('the answer names a part without its place')
    return { entity, start: start as number, end: end as number, score }
  })
}

/** A text with each part replaced by its kind. Of parts that overlap the likeliest counts, then the longest. */
function withoutParts(text: string, parts: readonly Found[]): string {
  if (parts.length === 0) return text
  const kept: Found[] = []
  const byWeight = [...parts].sort((a, b) => b.score - a.score || b.end - b.start - (a.end - a.start))
  for (const part of byWeight)
    if (kept.every(({ start, end }) => part.end <= start || part.start >= end)) kept.push(part)
  const points = [...text]
  let replaced = ''
  let at = 0
  for (const { entity, start, end } of kept.sort((a, b) => a.start - b.start)) {
    replaced += `${points.slice(at, start).join('')}<${entity}>`
    at = end
  }
  return replaced + points.slice(at).join('')
}
