import { expect, test } from 'vitest'
import type { ChatMessage, SamplingParameters } from '../../../src/core/calls/chat-request.ts'
import { addedTokens } from '../../../src/core/text-tokens/added-tokens.ts'
import { promptTokensBound } from '../../../src/core/text-tokens/prompt-tokens.ts'

const QUESTION: ChatMessage[] = [{ role: 'user', content: 'What is the capital of Peru?' }]
const SCHEMA: SamplingParameters = {
  response_format: {
    type: 'json_schema',
    json_schema: { name: 'city', schema: { type: 'object', properties: { name: { type: 'string' } } } },
  },
}

/** As hosts of these models reported for prompts of such length. */
test.each([
  ['a template that writes a date', 'meta-llama/llama-3.3-70b', QUESTION, {}, 43],
  ['thinking', 'anthropic/claude-opus-4.7', QUESTION, {}, 57],
  ['effort and a date', 'deepseek/deepseek-v4', QUESTION, {}, 91],
  ['the system message of a format', 'gpt-oss-120b', QUESTION, {}, 98],
  ['instructions of the maker', 'x-ai/grok-4', [{ role: 'user', content: 'Hi' }], {}, 690],
  ['instructions for a schema', 'anthropic/claude-sonnet-4.6', QUESTION, SCHEMA, 640],
] as const)('the bound covers %s', (_, id, messages, parameters, reported) => {
  const bound = promptTokensBound(messages as ChatMessage[], parameters as SamplingParameters)
  expect(bound + addedTokens({ id })).toBeGreaterThanOrEqual(reported)
})

test('models that are not known for a preamble hold none', () => {
  for (const id of ['x-ai/grok-3', 'openai/gpt-5', 'anthropic/claude-opus-4.7'])
    expect(addedTokens({ id })).toBe(0)
})
