import { describe, expect, test } from 'vitest'
import type { CompletionEvent } from '../../src/core/calls/completion.ts'
import { MAX_NESTING } from '../../src/core/json/json-text.ts'
import { openReader } from '../../src/providers/chat-completions.ts'
import { GenerateContentReader } from '../../src/providers/chat-to-google.ts'
import { MessagesReader } from '../../src/providers/chat-to-messages.ts'
import { ResponsesReader } from '../../src/providers/chat-to-responses.ts'
import type { CompletionReader, StreamSignal } from '../../src/providers/wire.ts'

/** What the events of a stream amount to, and what they said of themselves. */
function read(reader: CompletionReader, ...stream: object[]) {
  const events: CompletionEvent[] = []
  const signals: StreamSignal[] = stream.map((data) =>
    reader.event(JSON.stringify(data), (event) => events.push(event)),
  )
  return { events, signals }
}

const chunk = (delta: object, more: object = {}) => ({ choices: [{ index: 0, delta, ...more }] })
const SURE = { token: 'Hi', logprob: -0.1, bytes: [72, 105] }
const LOGPROBS = {
  content: [
    { ...SURE, top_logprobs: [SURE, { token: 'Ho', logprob: -3 }, { token: 1 }], extra: 'x' },
    { token: 'no number', logprob: '1' },
  ],
  refusal: null,
}

describe('a stream of responses', () => {
  const done = (output_index: number, item: object) => ({
    ...{ type: 'response.output_item.done', output_index },
    item: { id: `it_${output_index}`, ...item },
  })

  test('reports the uses of its tools, also where it breaks off before its usage', () => {
    const reader = new ResponsesReader({ hosted: { tools: [], include: [], itemNames: [] } })
    const search = { type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'x' } }
    const { events } = read(
      reader,
      done(0, search),
      done(1, search),
      done(2, { type: 'code_interpreter_call' }),
    )
    const [, usage] = events.filter(([kind]) => kind === 'usage').at(-1)!
    expect(usage).toMatchObject({ webSearches: 2, codeExecutions: 1 })
  })

  test('shows log probabilities after their text to extended calls', () => {
    const delta = { type: 'response.output_text.delta', delta: 'Hi', logprobs: LOGPROBS.content }
    const { events } = read(new ResponsesReader({ extended: true }), delta)
    expect(events.map(([kind]) => kind)).toEqual(['text', 'logprobs'])
  })
})

describe('a stream of chat-completions', () => {
  test.each([
    [{ reasoning_content: 'Hm.' }],
    [{ reasoning: 'Hm.' }],
    [{ reasoning: 'Hm', reasoning_content: 'Hm.' }],
    [{ reasoning_details: [{ type: 'reasoning.text', text: 'Hm' }, { summary: '.' }] }],
    [{ content: [{ type: 'thinking', thinking: [{ text: 'Hm.' }] }] }],
  ])('shows reasoning to extended calls, and measures it for others: %j', (delta) => {
    expect(read(openReader({ extended: true }), chunk(delta))).toEqual({
      events: [['reasoning', 'Hm.']],
      signals: ['thinking'],
    })
    expect(read(openReader(), chunk(delta)).events).toEqual([['thinking', 3]])
  })

  test('shows reasoning before the text of the same event', () => {
    const delta = { content: 'Hi', reasoning: 'Hm.' }
    expect(read(openReader({ extended: true }), chunk(delta)).events).toEqual([
      ['reasoning', 'Hm.'],
      ['text', 'Hi'],
    ])
  })

  test('shows annotations to extended calls', () => {
    const citation = { type: 'url_citation', url_citation: { url: 'https://a.example', title: 'A' } }
    const levels = MAX_NESTING + 1
    const deep = JSON.parse(`${'{"type":"x","a":'.repeat(levels)}1${'}'.repeat(levels)}`)
    const cited = chunk({ content: 'Hi', annotations: [citation, { url: 'no type' }, 'x', deep] })
    expect(read(openReader({ extended: true }), cited, chunk({ annotations: [] })).events).toEqual([
      ['text', 'Hi'],
      ['annotations', [citation]],
    ])
    expect(read(openReader(), cited).events).toEqual([['text', 'Hi']])
  })

  test('says the service tier once, and only if the request names one', () => {
    const tiered = { ...chunk({ content: 'Hi' }), service_tier: 'default' }
    const asked = openReader({ parameters: { passed: { service_tier: 'priority' } } })
    expect(read(asked, chunk({ role: 'assistant' }), tiered, tiered, tiered).events).toEqual([
      ['tier', 'default'],
      ...Array(3).fill(['text', 'Hi']),
    ])
    expect(read(openReader(), tiered).events).toEqual([['text', 'Hi']])
  })

  test('shows log probabilities to extended calls, known fields only', () => {
    const events = chunk({ content: 'Hi' }, { logprobs: LOGPROBS })
    expect(read(openReader({ extended: true }), events, events).events.slice(2)).toEqual([
      ['text', 'Hi'],
      ['logprobs', [{ ...SURE, top_logprobs: [SURE, { token: 'Ho', logprob: -3, bytes: null }] }]],
    ])
    expect(read(openReader(), events, events).events).toEqual([
      ['text', 'Hi'],
      ['text', 'Hi'],
    ])
  })

  test.each([{ stop_reason: 'END' }, { matched_stop: 'END' }])(
    'names the stop sequence that ended it: %j',
    (said) => {
      const last = chunk({}, { finish_reason: 'stop', ...said })
      const finish = (namedStops?: string[]) => read(openReader({ extended: true, namedStops }), last).events
      const stop = { stop_reason: 'stop_sequence', stop_sequence: 'END' }
      expect(finish(['a', 'END'])).toEqual([['finish', 'stop', stop]])
      expect(finish(['a'])).toEqual([['finish', 'stop']])
      expect(finish()).toEqual([['finish', 'stop']])
    },
  )

  test('is read the same where it comes whole', () => {
    const events: CompletionEvent[] = []
    const message = { content: 'Hi', reasoning_content: 'Hm.' }
    const reply = { choices: [{ index: 0, message, logprobs: LOGPROBS, finish_reason: 'stop' }] }
    openReader({ extended: true }).whole(JSON.stringify(reply), (event) => events.push(event))
    expect(events.map(([kind]) => kind)).toEqual(['reasoning', 'text', 'logprobs', 'finish'])
  })
})

describe('a stream of anthropic-messages', () => {
  const STREAM = [
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
    { type: 'content_block_start', index: 1, content_block: { type: 'redacted_thinking', data: 'abcd' } },
  ]

  test('shows thinking to extended calls, but not what is redacted', () => {
    expect(read(new MessagesReader({ extended: true }), ...STREAM).events).toEqual([
      ['reasoning', 'Hm.'],
      ['thinking', 4],
    ])
    expect(read(new MessagesReader(), ...STREAM).events).toEqual([
      ['thinking', 3],
      ['thinking', 4],
    ])
  })
})

describe('a stream of generate-content', () => {
  const part = (content: object, more: object = {}) => ({
    candidates: [{ index: 0, content: { role: 'model', parts: [content] }, ...more }],
  })
  const result = {
    chosenCandidates: [{ token: 'Hi', logProbability: -0.1 }, { token: 2 }],
    topCandidates: [{ candidates: [{ token: 'Hi', logProbability: -0.1 }] }],
  }

  test('shows thoughts and log probabilities to extended calls', () => {
    const stream = [part({ text: 'Hm.', thought: true }), part({ text: 'Hi' }, { logprobsResult: result })]
    expect(read(new GenerateContentReader({ extended: true }), ...stream)).toEqual({
      events: [
        ['reasoning', 'Hm.'],
        ['text', 'Hi'],
        ['logprobs', [{ ...SURE, top_logprobs: [SURE] }]],
      ],
      signals: ['thinking', 'content'],
    })
    expect(read(new GenerateContentReader(), ...stream).events).toEqual([
      ['thinking', 3],
      ['text', 'Hi'],
    ])
  })
})
