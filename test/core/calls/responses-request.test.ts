import { expect, test } from 'vitest'
import { createValidator } from '../../../src/core/api/schema-validator.ts'
import { normalizeResponsesRequest, ResponsesBody } from '../../../src/core/calls/responses-request.ts'

const refusalOf = createValidator(ResponsesBody)
const parse = (body: unknown) => {
  expect(refusalOf(body)).toBeNull()
  return normalizeResponsesRequest(body as ResponsesBody)
}
const messagesOf = (input: unknown[]) => parse({ input }).content.messages

test('a text is a user message after the instructions, and the fields are those of an extended chat request', () => {
  const request = parse({
    model: 'test/one',
    input: 'Hi',
    instructions: 'Be brief.',
    max_output_tokens: 9,
    temperature: 0.5,
    top_p: 0.9,
    stream: true,
    store: false,
    background: null,
    parallel_tool_calls: false,
    tools: [{ type: 'function', name: 'add', parameters: { type: 'object' }, strict: null }],
    tool_choice: { type: 'function', name: 'add' },
    text: { format: { type: 'json_schema', name: 'sum', schema: { type: 'object' }, strict: true } },
    reasoning: { effort: 'low', summary: 'auto' },
    metadata: { team: 'x' },
  })
  expect(request).toMatchObject({
    models: ['test/one'],
    stream: true,
    completionLimit: 9,
    content: {
      extended: true,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hi' },
      ],
      parameters: {
        temperature: 0.5,
        top_p: 0.9,
        tools: [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }],
        tool_choice: { type: 'function', function: { name: 'add' } },
        parallel_tool_calls: false,
        response_format: { type: 'json_schema', json_schema: { name: 'sum', schema: { type: 'object' } } },
        reasoning_effort: 'low',
      },
    },
  })
})

test('the items of a turn become one message of the assistant, with its reasoning and its calls', () => {
  const call = (id: string, name: string) => ({ type: 'function_call', call_id: id, name, arguments: '{}' })
  const output = (id: string, text: unknown) => ({ type: 'function_call_output', call_id: id, output: text })
  const kept = (id: string, name: string) => ({ id, type: 'function', function: { name, arguments: '{}' } })
  expect(
    messagesOf([
      { role: 'user', content: [{ type: 'input_text', text: 'Add.' }] },
      { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'So.' }] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'I add.' }] },
      call('c1', 'add'),
      call('c2', 'now'),
      output('c2', 'noon'),
      output('c1', [{ type: 'input_text', text: '3' }]),
      call('c3', 'now'),
      output('c3', ''),
    ]),
  ).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Add.' }] },
    {
      role: 'assistant',
      content: [{ type: 'text', text: 'I add.' }],
      tool_calls: [kept('c1', 'add'), kept('c2', 'now')],
      reasoning: 'So.',
    },
    { role: 'tool', content: 'noon', tool_call_id: 'c2' },
    { role: 'tool', content: [{ type: 'text', text: '3' }], tool_call_id: 'c1' },
    { role: 'assistant', content: '', tool_calls: [kept('c3', 'now')] },
    { role: 'tool', content: '', tool_call_id: 'c3' },
  ])
})

test('images and files are parts of a message', () => {
  const [message] = messagesOf([
    {
      role: 'user',
      content: [
        { type: 'input_image', image_url: 'https://a.test/x.png', detail: 'low' },
        { type: 'input_file', file_url: 'https://a.test/x.pdf' },
      ],
    },
  ])
  expect(message!.content).toMatchObject([
    { type: 'image', source: { url: 'https://a.test/x.png' }, detail: 'low' },
    { type: 'file', source: { url: 'https://a.test/x.pdf' } },
  ])
})

test.each<[Record<string, unknown>, string]>([
  [{ input: [] }, 'input'],
  [{ input: [7] }, 'input[0]'],
  [
    {
      input: [
        { role: 'user', content: 'a' },
        { role: 'robot', content: 'b' },
      ],
    },
    'input[1]',
  ],
  [{ input: [{ role: 'user', content: [{ type: 'text', text: 'a' }] }] }, 'input[0].content[0].type'],
  [
    { instructions: 'x', input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] },
    'input[0].content[0].image_url',
  ],
  [{ input: [{ type: 'function_call', call_id: 'c', name: 'add', arguments: '{}' }] }, 'input[0]'],
  [{ input: 'a', tools: [{ type: 'function', name: 'no spaces' }] }, 'tools[0].name'],
  [{ input: 'a', tool_choice: 'required' }, 'tool_choice'],
  [{ input: 'a', text: { format: { type: 'xml' } } }, 'text.format.type'],
  [{ input: 'a', reasoning: { effort: 'vast' } }, 'reasoning.effort'],
  [{ input: 'a', max_output_tokens: 0 }, 'max_output_tokens'],
  [{ input: 'a', store: true }, 'store'],
  [{ input: 'a', previous_response_id: 'x' }, 'previous_response_id'],
])('%o is refused by the path of what is wrong', (body, param) => {
  const read = () => {
    const refusal = refusalOf(body)
    if (refusal) throw refusal
    normalizeResponsesRequest(body as ResponsesBody)
  }
  expect(read).toThrow(expect.objectContaining({ code: 'invalid_request', details: { param } }))
})
