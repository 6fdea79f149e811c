import { expect, test } from 'vitest'
import type { Model, ProviderQuirks, Wire } from '../../../src/core/catalog/catalog.ts'
import { supportsParameter } from '../../../src/core/routing/supported-parameters.ts'
import { offerAt } from '../../helpers/scripted-provider.ts'

function supports(
  name: string,
  {
    wire = 'chat-completions' as Wire,
    parameters = ['tools', 'temperature'],
    reasoning = false,
    quirks = {} as ProviderQuirks,
  } = {},
): boolean {
  const offer = offerAt('https://api.example/v1')
  const model = { supportedParameters: parameters, reasoning } as unknown as Model
  return supportsParameter({ ...offer, provider: { ...offer.provider, wire, quirks } }, model, name)
}

test('what a model states is supported, and what that implies', () => {
  for (const name of ['tools', 'temperature', 'tool_choice', 'seed', 'stop', 'logprobs'])
    expect(supports(name)).toBe(true)
  expect(supports('response_format')).toBe(false)
  expect(supports('anything')).toBe(false)
})

test('a model of a fixed temperature rejects what shapes its sampling, but takes a stop on other wires', () => {
  const parameters = ['tools']
  for (const name of ['seed', 'stop', 'presence_penalty', 'logprobs'])
    expect(supports(name, { parameters })).toBe(false)
  expect(supports('stop', { parameters, wire: 'anthropic-messages' })).toBe(true)
})

test('only models that reason take an effort, unless the catalog states otherwise', () => {
  expect(supports('reasoning_effort')).toBe(false)
  expect(supports('reasoning_effort', { reasoning: true })).toBe(true)
  expect(supports('reasoning_effort', { parameters: ['reasoning_effort'] })).toBe(true)
})

test('nothing is supported that the wire cannot carry or the provider rejects', () => {
  expect(supports('seed', { wire: 'anthropic-messages', parameters: ['seed', 'temperature'] })).toBe(false)
  expect(supports('parallel_tool_calls', { wire: 'google-generate-content' })).toBe(false)
  expect(supports('tools', { quirks: { omit: ['tools'] } })).toBe(false)
})
