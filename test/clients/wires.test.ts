import OpenAI from 'openai'
import { beforeAll, describe, expect, test } from 'vitest'
import { testStack } from '../helpers/resources.ts'
import { PLAIN_WIRES } from '../helpers/wires.ts'

const QUESTION = [{ role: 'user' as const, content: 'Tell me about rail yards.' }]
const PIXEL =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const FIND_TRAIN = {
  type: 'function' as const,
  function: {
    name: 'find_train',
    description: 'Finds a train.',
    parameters: {
      type: 'object',
      properties: { town: { type: 'string' }, platform: { type: 'integer' } },
      required: ['town', 'platform'],
      additionalProperties: false,
    },
    strict: true,
  },
}
const TOOL_QUESTION = [{ role: 'user' as const, content: 'Use find_train to "Basel" from platform 7.' }]

let client: OpenAI

const stack = testStack({
  models: Object.fromEntries(
    PLAIN_WIRES.map((wire) => [
      `test/${wire}`,
      {
        input_modalities: ['text', 'image'],
        offers: [{ at: wire.replaceAll('-', ''), model: `words-40.tag-${wire}`, wire }],
      },
    ]),
  ),
})
beforeAll(async () => {
  const { key } = await stack.account('20.00')
  client = new OpenAI({ apiKey: key, baseURL: `${stack.url}/v1`, maxRetries: 0 })
})

describe.each(PLAIN_WIRES)('the official client library and a model on the wire %s', (wire) => {
  const model = `test/${wire}`

  test('a completion, streamed and whole, has the same text and usage', async () => {
    const whole = await client.chat.completions.create({ model, messages: QUESTION })
    expect(whole.model).toBe(model)
    expect(whole.choices[0]!.message.content!.split(' ')).toHaveLength(40)
    expect(whole.choices[0]!.finish_reason).toBe('stop')
    expect(whole.usage).toEqual({ prompt_tokens: 10, completion_tokens: 40, total_tokens: 50 })

    const runner = client.chat.completions.stream({ model, messages: QUESTION })
    const final = await runner.finalChatCompletion()
    expect(final.choices[0]!.message.content).toBe(whole.choices[0]!.message.content)
    expect(final.usage).toEqual(whole.usage)
  })

  test('a completion limit ends the answer with `length`', async () => {
    const { choices, usage } = await client.chat.completions.create({
      model,
      messages: QUESTION,
      max_tokens: 19,
    })
    expect(choices[0]!.finish_reason).toBe('length')
    expect(usage!.completion_tokens).toBe(19)
  })

  test('a tool is called, streamed and whole', async () => {
    const call = { model, messages: TOOL_QUESTION, tools: [FIND_TRAIN] }
    const whole = await client.chat.completions.create(call)
    const streamed = await client.chat.completions.stream(call).finalChatCompletion()
    for (const { choices } of [whole, streamed]) {
      expect(choices[0]!.finish_reason).toBe('tool_calls')
      const [toolCall] = choices[0]!.message.tool_calls!
      expect(toolCall!.id).toMatch(/^call_[A-Za-z0-9]+$/)
      const { name, arguments: json } = (
        toolCall as typeof toolCall & { function: { name: string; arguments: string } }
      ).function
      expect(name).toBe('find_train')
      expect(JSON.parse(json)).toEqual({ town: 'Basel', platform: 7 })
    }
  })

  test("a tool's result may follow, although its call is not kept", async () => {
    const { choices } = await client.chat.completions.create({
      model,
      messages: [
        ...TOOL_QUESTION,
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'call_1',
              type: 'function',
              function: { name: 'find_train', arguments: '{"town":"Basel"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'call_1', content: 'It leaves at 9.' },
      ],
      tools: [FIND_TRAIN],
    })
    expect(choices[0]!.finish_reason).toBe('stop')
    expect(choices[0]!.message.content).toMatch(/\w/)
  })

  test('an image is seen', async () => {
    const { choices } = await client.chat.completions.create({
      model,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: PIXEL } },
          ],
        },
      ],
    })
    expect(choices[0]!.message.content).toContain('You sent 1 image.')
  })

  test('JSON by a schema is given', async () => {
    const schema = {
      type: 'object',
      properties: { town: { type: 'string' } },
      required: ['town'],
      additionalProperties: false,
    }
    const { choices } = await client.chat.completions.create({
      model,
      messages: [{ role: 'user', content: 'Name "Basel" as JSON.' }],
      response_format: { type: 'json_schema', json_schema: { name: 'town', schema, strict: true } },
    })
    expect(JSON.parse(choices[0]!.message.content!)).toEqual({ town: 'Basel' })
  })
})
