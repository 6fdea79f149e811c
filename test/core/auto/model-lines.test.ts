import { describe, expect, test } from 'vitest'
import { compareVersions, modelLine } from '../../../src/core/auto/model-lines.ts'

const line = (id: string) => modelLine(id, id.includes('/') ? id.split('/')[0]! : 'openai')

describe('the line of a model', () => {
  test.each([
    ['gpt-5.1', 'gpt-6.1'],
    ['gpt-5-mini', 'gpt-5.4-mini'],
    ['anthropic/claude-3.5-sonnet', 'anthropic/claude-sonnet-5.5'],
    ['deepseek/deepseek-v3', 'deepseek/deepseek-v4.1'],
    ['qwen/qwen3.7-max', 'qwen/qwen3.8-max'],
    ['qwen/qwen-plus', 'qwen/qwen3.7-plus'],
    ['x-ai/grok-4.20', 'x-ai/grok-4.3'],
    ['mistralai/mistral-medium-3', 'mistralai/mistral-medium-3-5'],
    ['meta-llama/llama-3.1-70b-instruct', 'meta-llama/llama-3.3-70b'],
    ['moonshotai/kimi-k2.6', 'moonshotai/kimi-k3'],
  ])('%s is an older model of the same line as %s', (old, young) => {
    expect(line(old).line).toBe(line(young).line)
    expect(compareVersions(line(old).version, line(young).version)).toBeLessThan(0)
  })

  test.each([
    ['gpt-5', 'gpt-5-mini'],
    ['anthropic/claude-opus-5', 'anthropic/claude-sonnet-5.5'],
    ['meta-llama/llama-3.1-8b', 'meta-llama/llama-3.3-70b'],
    ['deepseek/deepseek-v4-pro', 'deepseek/deepseek-v4.1-flash'],
  ])('%s and %s are different lines', (one, other) => {
    expect(line(one).line).not.toBe(line(other).line)
  })

  test.each([
    'google/gemini-3-flash-preview',
    'gpt-5.1-2025-11-13',
    'anthropic/claude-opus-4.7-20260416',
    'deepseek/deepseek-v4-flash-0731',
    'cohere/command-r-plus-08-2024',
    'x-ai/grok-4.5-latest',
    'z-ai/glm-5.3-fast',
    'gpt-5.1-codex-max',
    'gpt-4o-search-preview',
    'qwen/qwen3-vl-32b-instruct',
    'nvidia/llama-3.3-nemotron-super-49b-v1',
    'deepseek/deepseek-r1-distill-llama-70b',
    'nvidia/cosmos3-super',
  ])('%s is a variant', (id) => {
    expect(line(id).isVariant).toBe(true)
  })

  test.each(['gpt-4o', 'gpt-6-sol', 'mistralai/mixtral-8x22b', 'meta-llama/llama-4-scout', 'qwen/qwen3-32b'])(
    '%s is none',
    (id) => {
      expect(line(id).isVariant).toBe(false)
    },
  )

  test('small models are recognized by developer and total parameters, not by active ones', () => {
    const small = [
      'gpt-5-mini',
      'google/gemini-3.8-flash',
      'qwen/qwen3.8-27b',
      'nvidia/nemotron-3-nano-30b-a3b',
    ]
    for (const id of small) expect(line(id).isSmall).toBe(true)
    for (const id of ['gpt-6-sol', 'qwen/qwen3.5-397b-a17b', 'qwen/qwen3.8-2.4t-a95b']) {
      expect(line(id).isSmall).toBe(false)
    }
  })

  test('counts versions in decimals, part by part; no version is the oldest', () => {
    expect(compareVersions([4.2], [4.3])).toBeLessThan(0)
    expect(compareVersions([3], [3, 5])).toBeLessThan(0)
    expect(compareVersions([], [1])).toBeLessThan(0)
    expect(compareVersions([4.1], [4.1])).toBe(0)
  })

  test.each(['', '/', 'a/', '---', '1', 'vendor/日本'])('takes any id: %j', (id) => {
    expect(modelLine(id, 'a')).toMatchObject({ isSmall: false })
  })
})
