import { expect, test } from 'vitest'
import type { ChatMessage, SamplingParameters } from '../../src/core/calls/chat-request.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import * as chat from '../../src/providers/chat-completions.ts'
import * as anthropic from '../../src/providers/chat-to-messages.ts'
import { countTextTokens } from '../../src/providers/count-tokens.ts'
import { offerAt } from '../helpers/scripted-provider.ts'

/** What the messages wire's provider puts before a prompt with tools, as it publishes, for the dearest model. */
const PUBLISHED_TOOL_TOKENS = 530

/** A block, as a model may be shown it. */
const asText = (block: { type: string; text: string }) =>
  block.type === 'text' ? block.text : JSON.stringify(block)

const SCHEMA = { type: 'object', properties: { town: { type: 'string' } }, required: ['town'] }
const TOOLS = [{ type: 'function', function: { name: 'f', parameters: SCHEMA } }]

test.each<[string, ChatMessage[], SamplingParameters]>([
  ['a short prompt', [{ role: 'user', content: 'Hi' }], {}],
  ['tools', [{ role: 'user', content: 'Hi' }], { tools: TOOLS }],
  ['JSON', [{ role: 'user', content: 'Hi' }], { response_format: { type: 'json_object' } }],
  [
    'JSON by a schema',
    [{ role: 'user', content: 'Hi' }],
    { response_format: { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMA } } },
  ],
  [
    'results of tools',
    Array.from({ length: 20 }, (_, index) => ({
      role: 'tool' as const,
      content: 'ok',
      tool_call_id: `call_${index}`,
      name: 'weather',
    })),
    {},
  ],
  [
    'calls of tools',
    [
      { role: 'user', content: 'Hi' },
      ...Array.from({ length: 20 }, (_, index): ChatMessage[] => [
        {
          role: 'assistant',
          content: '',
          reasoning: 'Hm.',
          tool_calls: [
            {
              id: `foreign/${index}`,
              type: 'function',
              function: { name: 'f', arguments: '{"town":"\\n"}' },
            },
          ],
        },
        { role: 'tool', content: '"\n"', tool_call_id: `foreign/${index}` },
      ]).flat(),
    ],
    {},
  ],
])(
  'what a wire adds to %s in words stays within the bound that was held for',
  async (_, messages, parameters) => {
    const request = {
      offer: offerAt('http://h/v1'),
      messages,
      parameters,
      accountId: 'acct_1',
      completionLimit: 1,
      limits: { firstTokenMs: 1, idleMs: 1, totalMs: 1 },
      signal: new AbortController().signal,
    }
    for (const { requestBody } of [anthropic, chat]) {
      const body = JSON.parse(String(requestBody(request)))
      const words = [
        body.system ?? '',
        ...body.messages.flatMap(
          ({ content }: { content: string | { type: string; text: string }[] | null }) =>
            typeof content === 'string' ? content : (content ?? []).map(asText),
        ),
        ...body.messages.map(({ tool_calls: calls = '' }) => JSON.stringify(calls)),
        parameters.tools ? JSON.stringify(body.tools) : '',
      ].join('\n')
      const tokens = (await countTextTokens(words)) + (parameters.tools ? PUBLISHED_TOOL_TOKENS : 0)
      expect(promptTokensBound(messages, parameters)).toBeGreaterThanOrEqual(tokens)
    }
  },
)
