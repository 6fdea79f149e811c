import { expect, test } from 'vitest'
import { readFinishReason } from '../../src/providers/finish-reasons.ts'

test.each([
  ['stop', 'stop eos eos_token end_turn stop_sequence STOP COMPLETE FINISH_REASON_STOP'],
  [
    'length',
    'length max_tokens MAX_TOKENS model_length incomplete model_context_window_exceeded repetition_truncation',
  ],
  ['tool_calls', 'tool_calls tool-calls tool_use TOOL_CALL'],
  ['content_filter', 'content_filter content-filter sensitive refusal SAFETY PROHIBITED_CONTENT MODEL_ARMOR'],
  [
    'error',
    'error network_error abort cancelled insufficient_system_resource timeout MALFORMED_FUNCTION_CALL OTHER',
  ],
])('the reasons of today’s providers that mean %s are read so', (meaning, words) => {
  for (const word of words.split(' ')) expect([word, readFinishReason(word)]).toEqual([word, meaning])
})

test.each([null, undefined, '', ' ', 'null', 'FINISH_REASON_UNSPECIFIED', 7, {}])(
  '%j is no reason',
  (word) => {
    expect(readFinishReason(word)).toBeNull()
  },
)

test('an unknown finish reason is reported as short text without markup and is not `stop`', () => {
  expect(readFinishReason('turn_limit')).toEqual({ unknown: 'turn_limit' })
  expect(readFinishReason('constructor')).toEqual({ unknown: 'constructor' })
  expect(readFinishReason(`<b>\n${'x'.repeat(100)}`)).toEqual({ unknown: `b${'x'.repeat(59)}` })
})

test('a provider’s own words come first', () => {
  const own = { turn_limit: 'length', stop: 'error' } as const
  expect(readFinishReason('turn_limit', own)).toBe('length')
  expect(readFinishReason('stop', own)).toBe('error')
  expect(readFinishReason('eos', own)).toBe('stop')
})
