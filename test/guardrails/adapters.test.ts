import { describe, expect, test } from 'vitest'
import type { GuardrailSettings } from '../../src/core/guardrails/guardrail.ts'
import type { AskedGuardrail, AskGuardrail } from '../../src/guardrails/adapter.ts'
import { askModeration } from '../../src/guardrails/ask-moderation.ts'
import { askPresidio } from '../../src/guardrails/ask-presidio.ts'
import { stubOf } from '../helpers/stub-of.ts'

interface Sent {
  url: string
  body: Record<string, unknown>
  headers: Record<string, string> | undefined
}

/** Asks about texts; `answer` is what the service answers to each request. */
async function asked(
  ask: AskGuardrail,
  texts: string[],
  answer: (body: Record<string, unknown>) => unknown,
  settings: GuardrailSettings & { mayReplace?: boolean } = {},
) {
  const { mayReplace = false, ...others } = settings
  const sent: Sent[] = []
  const guardrail = stubOf<AskedGuardrail>({
    ...{ url: 'https://guard.example/', secret: 'k1', settings: others, mayReplace },
    async post(url, json, headers) {
      const body = JSON.parse(json)
      sent.push({ url, body, headers })
      return JSON.stringify(answer(body))
    },
  })
  return { verdict: await ask(texts, guardrail), sent }
}

describe('a moderation service', () => {
  const result = (flagged: boolean, categories: Record<string, boolean>) => ({ flagged, categories })
  const MIXED = {
    results: [result(false, { hate: false, violence: false }), result(true, { hate: true, violence: false })],
  }

  test('is asked about all texts at once, and denies what it flags', async () => {
    const { verdict, sent } = await asked(askModeration, ['one', 'two'], () => MIXED, { model: 'omni' })
    expect(verdict).toEqual({ action: 'deny', code: 'flagged', message: 'hate.' })
    const headers = { authorization: 'Bearer k1' }
    expect(sent).toEqual([
      { url: 'https://guard.example/', body: { model: 'omni', input: ['one', 'two'] }, headers },
    ])
  })

  test('allows what it flags for other categories than are chosen', async () => {
    const { verdict } = await asked(askModeration, ['one', 'two'], () => MIXED, { categories: ['violence'] })
    expect(verdict).toEqual({ action: 'allow' })
  })

  test.each([[{}], [{ results: [] }], [{ results: [{ flagged: 'no' }] }]])(
    'that answers %j has failed',
    async (answer) => {
      await expect(asked(askModeration, ['one'], () => answer)).rejects.toThrow()
    },
  )
})

describe('Presidio', () => {
  const found = (entity_type: string, start: number, end: number, score: number) => ({
    ...{ entity_type, start, end, score, analysis_explanation: null },
  })

  test('is asked about each text, and replaces what it finds, by places in code points', async () => {
    const text = '🚂🚂 Ann, ann@x.test'
    const { verdict, sent } = await asked(
      askPresidio,
      [text, 'nothing'],
      (body) => (body.text === text ? [found('PERSON', 3, 6, 0.85), found('EMAIL_ADDRESS', 8, 18, 1)] : []),
      { mayReplace: true, entities: ['PERSON', 'EMAIL_ADDRESS'], score_threshold: 0.4 },
    )
    expect(verdict).toEqual({ action: 'replace', texts: ['🚂🚂 <PERSON>, <EMAIL_ADDRESS>', 'nothing'] })
    const how = { language: 'en', score_threshold: 0.4, entities: ['PERSON', 'EMAIL_ADDRESS'] }
    expect(sent.map(({ url, body }) => [url, body])).toEqual([
      ['https://guard.example/analyze', { text, ...how }],
      ['https://guard.example/analyze', { text: 'nothing', ...how }],
    ])
  })

  test('of parts that overlap the likeliest counts, then the longest', async () => {
    const answer = [
      found('URL', 4, 10, 0.5),
      found('EMAIL_ADDRESS', 0, 10, 1),
      found('PERSON', 11, 14, 0.6),
      found('LOCATION', 11, 18, 0.6),
    ]
    const { verdict } = await asked(askPresidio, ['ann@x.test Ann Arbor'], () => answer, { mayReplace: true })
    expect(verdict).toEqual({ action: 'replace', texts: ['<EMAIL_ADDRESS> <LOCATION>or'] })
  })

  test('denies where it may not replace', async () => {
    const { verdict } = await asked(askPresidio, ['Ann'], () => [found('PERSON', 0, 3, 0.9)])
    expect(verdict).toEqual({ action: 'deny', code: 'personal-data', message: 'PERSON.' })
  })

  test.each([[{ error: 'no model' }], [[{ entity_type: 'PERSON' }]]])(
    'that answers %j has failed',
    async (answer) => {
      await expect(asked(askPresidio, ['Ann'], () => answer)).rejects.toThrow()
    },
  )
})
