import { describe, expect, test } from 'vitest'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { tooLargeSchema } from '../../../src/core/json/schema-limits.ts'
import { planOf } from '../../helpers/plan-of.ts'
import { model, offer, provider, snapshot } from '../../helpers/planned-catalog.ts'

/** 1,900 references to 1,900 properties: 66 kB that would come out as tens of megabytes. */
const bomb = () => ({
  type: 'object',
  properties: Object.fromEntries(Array.from({ length: 1_900 }, (_, i) => [`r${i}`, { $ref: '#/$defs/b' }])),
  $defs: { b: { properties: Object.fromEntries(Array.from({ length: 1_900 }, (_, i) => [i, 1])) } },
})
const responseFormat = (schema: unknown) => ({ type: 'json_schema', json_schema: { name: 'n', schema } })
const tools = (...schemas: unknown[]) =>
  schemas.map((parameters, index) => ({ type: 'function', function: { name: `f${index}`, parameters } }))

const GOOGLE = offer(provider('g', { wire: 'google-generate-content' }), 1)
const OTHER = offer(provider('o'), 1)

const plan = (offers: Array<typeof GOOGLE>, more: object) =>
  planOf(
    parseChatRequest({ model: 'm', messages: [{ role: 'user', content: 'hi' }], ...more }),
    100,
    snapshot([model('m', offers)]),
    { defaultCompletionLimit: 100, maxCandidates: 8, byokFeePercent: 5, random: () => 0.5 },
  )

describe('schemas that references multiply', () => {
  test('are found in tools and in the response format, together as well as alone', () => {
    expect(tooLargeSchema({ response_format: responseFormat(bomb()) })).toBe(
      'response_format.json_schema.schema',
    )
    expect(tooLargeSchema({ tools: tools({ type: 'object' }, bomb()) })).toBe('tools')
    const large = { type: 'object', description: 'x'.repeat(200_000) }
    expect(tooLargeSchema({ tools: tools(large, large) })).toBeNull()
    expect(tooLargeSchema({ tools: tools(large, large, large) })).toBe('tools')
    expect(
      tooLargeSchema({ tools: [{ type: 'function', function: null }], response_format: { type: 'text' } }),
    ).toBeNull()
  })

  test('are refused, with their field, where only a wire without references is left', () => {
    expect(() => plan([GOOGLE], { response_format: responseFormat(bomb()) })).toThrow(
      expect.objectContaining({
        code: 'invalid_request',
        details: expect.objectContaining({ param: 'response_format.json_schema.schema' }),
      }),
    )
    expect(() => plan([GOOGLE], { tools: tools(bomb()) })).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ param: 'tools' }) }),
    )
  })

  test('go to the providers that take them as they are', () => {
    const { candidates } = plan([GOOGLE, OTHER], { tools: tools(bomb()) })
    expect(candidates.map(({ offerId }) => offerId)).toEqual([OTHER.id])
  })

  test('leave a plan alone where they are of ordinary size', () => {
    expect(plan([GOOGLE, OTHER], { tools: tools({ type: 'object' }) }).candidates).toHaveLength(2)
  })
})

test('refuses tools and response formats beyond a megabyte of JSON', () => {
  const request = (more: object) => () =>
    parseChatRequest({ messages: [{ role: 'user', content: 'hi' }], ...more })
  const long = 'x'.repeat(1024 * 1024)
  expect(request({ tools: [{ description: long }] })).toThrow(/`tools` may take 1048576 characters/)
  expect(request({ response_format: { type: 'json_object', long } })).toThrow(/`response_format` may take/)
})
