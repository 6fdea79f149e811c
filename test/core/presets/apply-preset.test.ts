import { expect, test } from 'vitest'
import type { PresetSettings } from '../../../src/core/api/presets.ts'
import type { MessagesBody } from '../../../src/core/calls/messages-request.ts'
import {
  onChat,
  onMessages,
  onResponses,
  onStableChat,
  onTokenCount,
} from '../../../src/core/presets/apply-preset.ts'
import { namesPreset, presetReference, readPresetSettings } from '../../../src/core/presets/preset.ts'

const USER = { role: 'user', content: 'Hello' }
const SETTINGS: PresetSettings = {
  models: ['maker/one', 'maker/two'],
  provider: { zdr: true, sort: 'price' },
  max_tokens: 100,
  temperature: 0.5,
  stop: 'END',
  seed: 7,
  reasoning_effort: 'high',
  system: 'Be brief.',
}

test('a name of a preset is read with or without a version', () => {
  expect(namesPreset({ model: '@preset/x' })).toBe(true)
  expect(namesPreset({ model: 'maker/one' })).toBe(false)
  expect(namesPreset({})).toBe(false)
  expect(presetReference('@preset/a.b-c')).toEqual({ name: 'a.b-c', version: null })
  expect(presetReference('@preset/x@12')).toEqual({ name: 'x', version: 12 })
  for (const wrong of ['', 'X', 'x@0', 'x@', 'x@1@2', '-x', 'x@01', 'x'.repeat(65)])
    expect(presetReference(`@preset/${wrong}`), wrong).toBeNull()
})

test('a chat completion takes what it does not send from the preset', () => {
  const { body } = onChat({ model: '@preset/x', messages: [USER], temperature: null }, SETTINGS)
  expect(body).toMatchObject({
    models: ['maker/one', 'maker/two'],
    provider: { zdr: true, sort: 'price' },
    max_tokens: 100,
    temperature: 0.5,
    seed: 7,
    messages: [{ role: 'system', content: 'Be brief.' }, USER],
  })
  expect(body.model).toBeUndefined()
})

test('what a chat completion sends replaces the setting of the preset', () => {
  const system = { role: 'developer', content: 'Be long.' }
  const sent = {
    model: '@preset/x',
    models: ['maker/three'],
    messages: [system, USER],
    temperature: 0,
    max_completion_tokens: 5,
    provider: { sort: 'latency' as const },
  }
  const { body } = onChat(sent, SETTINGS)
  expect(body).toMatchObject({ ...sent, model: undefined, provider: { zdr: true, sort: 'latency' } })
  expect(body).not.toHaveProperty('max_tokens')
  expect(body.messages).toEqual([system, USER])
})

test('the stable contract names the settings that it does not have', () => {
  expect(onStableChat({ messages: [USER] }, SETTINGS).leftOut).toEqual(['stop', 'seed', 'reasoning_effort'])
})

test('a message takes the settings by the names of its wire, and refuses a temperature that it does not have', () => {
  const sent: MessagesBody = { model: '@preset/x', max_tokens: 9, messages: [USER] }
  const { body, leftOut } = onMessages(sent, SETTINGS)
  expect(body).toMatchObject({
    models: ['maker/one', 'maker/two'],
    max_tokens: 9,
    system: 'Be brief.',
    stop_sequences: ['END'],
    temperature: 0.5,
    output_config: { effort: 'high' },
  })
  expect(leftOut).toEqual(['seed'])
  expect(onMessages({ ...sent, system: 'Own.' }, SETTINGS).body.system).toBe('Own.')
  expect(() => onMessages(sent, { temperature: 1.5 })).toThrow(/temperature above 1/)
  expect(onMessages({ ...sent, temperature: 0.1 }, { temperature: 1.5 }).body.temperature).toBe(0.1)
})

test('a response takes the system text as instructions, unless its input has its own', () => {
  const { body, leftOut } = onResponses({ model: '@preset/x', input: 'Hello' }, SETTINGS)
  expect(body).toMatchObject({
    instructions: 'Be brief.',
    max_output_tokens: 100,
    reasoning: { effort: 'high' },
  })
  expect(leftOut).toEqual(['stop', 'seed'])
  const own = onResponses({ input: [{ role: 'developer', content: 'Own.' }], instructions: null }, SETTINGS)
  expect(own.body.instructions).toBeNull()
})

test('a count of tokens is for the first model and includes the system text', () => {
  const { body } = onTokenCount({ model: '@preset/x', messages: [USER] }, SETTINGS)
  expect(body).toMatchObject({ model: 'maker/one', system: 'Be brief.' })
})

test('settings are validated as a call with them would be', () => {
  expect(readPresetSettings({ model: 'maker/one', temperature: null, system: '' })).toEqual({
    model: 'maker/one',
  })
  expect(() => readPresetSettings({ model: '@preset/other' })).toThrow(/no other preset/)
  expect(() => readPresetSettings({ provider: { max_price: { prompt: 'much' } } })).toThrow(/price/)
  expect(() => readPresetSettings({ system: 'é'.repeat(10_000) })).toThrow(/16384 bytes/)
  const provider = { only: Array.from({ length: 100 }, () => 'p'.repeat(400)) }
  expect(() => readPresetSettings({ provider })).toThrow(/32768 bytes/)
  const models = ['maker/one', 'maker/two']
  expect(readPresetSettings({ models, weights: [95, 5] })).toEqual({ models, weights: [95, 5] })
  for (const weights of [[95, 6], [100], []])
    expect(() => readPresetSettings({ models, weights }), weights.join()).toThrow(/in sum 100/)
  for (const wrong of [{ models: ['maker/one', 'maker/one'] }, { models, model: 'maker/one' }, {}])
    expect(() => readPresetSettings({ ...wrong, weights: [50, 50] })).toThrow(/in sum 100/)
})
