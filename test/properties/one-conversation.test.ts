import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parseExtendedRequest } from '../../src/core/calls/extended-request.ts'
import type { CallContent } from '../../src/core/calls/kinds/call-kinds.ts'
import { type MessagesBody, parseMessagesRequest } from '../../src/core/calls/messages-request.ts'
import { normalizeResponsesRequest, type ResponsesBody } from '../../src/core/calls/responses-request.ts'
import { WIRES, type Wire } from '../../src/core/catalog/catalog.ts'
import { wireFor } from '../../src/providers/kinds/provider-kinds.ts'
import { WIRE_MAPPINGS } from '../../src/providers/wires.ts'
import { CONVERSE } from '../../tools/simulated-providers/clouds/converse.ts'
import { ANTHROPIC_MESSAGES } from '../../tools/simulated-providers/wires/anthropic-messages.ts'
import { CHAT_COMPLETIONS } from '../../tools/simulated-providers/wires/chat-completions.ts'
import { GOOGLE_GENERATE_CONTENT } from '../../tools/simulated-providers/wires/google-generate-content.ts'
import { RESPONSES } from '../../tools/simulated-providers/wires/responses.ts'
import { offerAt } from '../helpers/scripted-provider.ts'

const SIMULATED = {
  'chat-completions': CHAT_COMPLETIONS,
  'anthropic-messages': ANTHROPIC_MESSAGES,
  'google-generate-content': GOOGLE_GENERATE_CONTENT,
  responses: RESPONSES,
  'bedrock-converse': CONVERSE,
}

/** A conversation, whatever its wire. */
interface Conversation {
  system: string
  /** The text after its calls is left out where it makes none. */
  turns: Array<{
    question: string
    image: boolean
    calls: Array<{ town: string; result: string }>
    answer: string
  }>
  last: string
  temperature: number
  choice: 'auto' | 'none' | 'required' | 'named'
  isSerial: boolean
}

const words = fc.stringMatching(/^[a-zé"\\ ]{0,12}[a-z]$/)
const conversations: fc.Arbitrary<Conversation> = fc.record({
  system: words,
  turns: fc.array(
    fc.record({
      question: words,
      image: fc.boolean(),
      calls: fc.array(fc.record({ town: words, result: words }), { maxLength: 3 }),
      answer: words,
    }),
    { maxLength: 4 },
  ),
  last: words,
  temperature: fc.constantFrom(0, 0.5, 1),
  choice: fc.constantFrom('auto', 'none', 'required', 'named'),
  isSerial: fc.boolean(),
})

const PIXEL =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SCHEMA = { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] }
const TOOL = { name: 'find_train', description: 'Finds a train.' }
const idOf = (turn: number, call: number) => `call_${turn}x${call}`
const argumentsOf = (town: string) => JSON.stringify({ town })

const asChat = ({ system, turns, last, temperature, choice, isSerial }: Conversation) =>
  parseExtendedRequest({
    model: 'm',
    max_completion_tokens: 100,
    temperature,
    tools: [{ type: 'function', function: { ...TOOL, parameters: SCHEMA } }],
    tool_choice: choice === 'named' ? { type: 'function', function: { name: TOOL.name } } : choice,
    parallel_tool_calls: !isSerial || choice === 'none',
    messages: [
      { role: 'system', content: system },
      ...turns.flatMap(({ question, image, calls, answer }, turn) => [
        {
          role: 'user',
          content: [
            { type: 'text', text: question },
            ...(image ? [{ type: 'image_url', image_url: { url: `data:image/png;base64,${PIXEL}` } }] : []),
          ],
        },
        {
          role: 'assistant',
          content: 'I look.',
          tool_calls: calls.map(({ town }, index) => ({
            id: idOf(turn, index),
            type: 'function',
            function: { name: TOOL.name, arguments: argumentsOf(town) },
          })),
        },
        ...calls.map(({ result }, index) => ({
          role: 'tool',
          tool_call_id: idOf(turn, index),
          content: result,
        })),
        ...(calls.length > 0 ? [{ role: 'assistant', content: answer }] : []),
      ]),
      { role: 'user', content: last },
    ],
  }).content

const asMessages = ({ system, turns, last, temperature, choice, isSerial }: Conversation) => {
  const type = { auto: 'auto', none: 'none', required: 'any', named: 'tool' }[choice]
  const body = {
    model: 'm',
    max_tokens: 100,
    temperature,
    system,
    tools: [{ ...TOOL, input_schema: SCHEMA }],
    tool_choice: {
      type,
      ...(choice === 'named' && { name: TOOL.name }),
      ...(isSerial && choice !== 'none' && { disable_parallel_tool_use: true }),
    },
    messages: [
      ...turns.flatMap(({ question, image, calls, answer }, turn) => [
        {
          role: 'user',
          content: [
            { type: 'text', text: question },
            ...(image
              ? [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }]
              : []),
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'I look.' },
            ...calls.map(({ town }, index) => ({
              type: 'tool_use',
              id: idOf(turn, index),
              name: TOOL.name,
              input: { town },
            })),
          ],
        },
        ...(calls.length > 0
          ? [
              {
                role: 'user',
                content: calls.map(({ result }, index) => ({
                  type: 'tool_result',
                  tool_use_id: idOf(turn, index),
                  content: result,
                })),
              },
              { role: 'assistant', content: answer },
            ]
          : []),
      ]),
      { role: 'user', content: last },
    ],
  }
  return parseMessagesRequest(body as MessagesBody, { anyWire: true }).content
}

const asResponses = ({ system, turns, last, temperature, choice, isSerial }: Conversation) => {
  const body = {
    model: 'm',
    max_output_tokens: 100,
    temperature,
    instructions: system,
    tools: [{ type: 'function', ...TOOL, parameters: SCHEMA }],
    tool_choice: choice === 'named' ? { type: 'function', name: TOOL.name } : choice,
    parallel_tool_calls: !isSerial || choice === 'none',
    input: [
      ...turns.flatMap(({ question, image, calls, answer }, turn) => [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: question },
            ...(image ? [{ type: 'input_image', image_url: `data:image/png;base64,${PIXEL}` }] : []),
          ],
        },
        { role: 'assistant', content: 'I look.' },
        ...calls.map(({ town }, index) => ({
          type: 'function_call',
          call_id: idOf(turn, index),
          name: TOOL.name,
          arguments: argumentsOf(town),
        })),
        ...calls.map(({ result }, index) => ({
          type: 'function_call_output',
          call_id: idOf(turn, index),
          output: result,
        })),
        ...(calls.length > 0 ? [{ role: 'assistant', content: answer }] : []),
      ]),
      { role: 'user', content: last },
    ],
  }
  return normalizeResponsesRequest(body as ResponsesBody, { history: [], openReasoning: () => null }).call
    .content
}

/** What a provider of a wire gets, and whether it takes it as real ones do. */
function sentTo(wire: Wire, content: CallContent) {
  const offer = offerAt('http://127.0.0.1:1')
  const attempt = {
    accountId: 'a',
    offer: { ...offer, provider: { ...offer.provider, wire }, reasons: true as const },
    completionLimit: 100,
    limits: { firstTokenMs: 1, idleMs: 1, totalMs: 1 },
    signal: new AbortController().signal,
    extended: true as const,
    content,
  }
  const { body } = wireFor(attempt, WIRE_MAPPINGS[wire]).request('key')
  const sent = JSON.parse(body as string) as Record<string, unknown>
  const read = SIMULATED[wire].readRequest(
    sent,
    { model: 'words-3', streams: true },
    { 'anthropic-version': '2023-06-01' },
  )
  expect(read, `a request that the wire refuses: ${body}`).not.toBeNull()
  return wire === 'anthropic-messages' ? asBlocks(sent) : sent
}

/** On the messages wire a text is one text block: what its clients write is relayed as they write it. */
function asBlocks({ system, tool_choice: choice, messages, ...body }: Record<string, unknown>) {
  const blocks = (content: unknown) =>
    typeof content === 'string' ? [{ type: 'text', text: content }] : content
  return {
    ...body,
    system: blocks(system),
    tool_choice: choice ?? { type: 'auto' },
    messages: (messages as Array<{ role: string; content: unknown }>).map(({ role, content }) => ({
      role,
      content: blocks(content),
    })),
  }
}

describe.each(WIRES)('a target on the wire %s', (wire) => {
  test('gets the same valid request of a conversation, whichever wire its client speaks', () => {
    fc.assert(
      fc.property(conversations, (conversation) => {
        const ofChat = sentTo(wire, asChat(conversation))
        expect(sentTo(wire, asResponses(conversation))).toEqual(ofChat)
        expect(sentTo(wire, asMessages(conversation))).toEqual(ofChat)
      }),
      { numRuns: 150 },
    )
  })
})
