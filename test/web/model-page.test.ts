import { expect, test } from 'vitest'
import { modelAbilities } from '../../web/lib/models/model-abilities.ts'
import { historyText } from '../../web/lib/models/model-history.ts'

const plain = {
  ...{ supported_parameters: [], input_modalities: ['text'], reasoning: false },
  ...{ zdr: false, open_weights: false },
}

test('names what a model can do, in one order, and nothing that it cannot', () => {
  expect(modelAbilities(plain)).toEqual([])
  expect(
    modelAbilities({
      ...{ supported_parameters: ['temperature', 'response_format', 'tools'], reasoning: true },
      ...{ input_modalities: ['text', 'image', 'audio'], cache_read: '0.10', zdr: true, open_weights: true },
    }),
  ).toEqual([
    ...['Tool calling', 'Structured output', 'Vision', 'Audio input', 'Reasoning', 'Prompt caching'],
    ...['Open weights', 'Zero data retention'],
  ])
  expect(
    modelAbilities({
      ...plain,
      kind: 'image',
      input_modalities: ['text', 'image'],
      supported_parameters: ['background'],
    }),
  ).toEqual(['Transparent background', 'Image editing'])
})

test('says a dash where a day has too few calls', () => {
  const day = { day: '2027-01-31', first_token_ms: 1_234, tokens_per_second: 8.25, uptime: null }
  expect(historyText('latency', day)).toBe('1.23 s')
  expect(historyText('throughput', day)).toBe('8.3 tokens/s')
  expect(historyText('uptime', day)).toBe('–')
})
