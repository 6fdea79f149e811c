import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import builtin from '../../../src/catalog/data/builtin.json' with { type: 'json' }
import modelQuality from '../../../src/catalog/data/model-quality.json' with { type: 'json' }
import outputTokens from '../../../src/catalog/data/output-tokens.json' with { type: 'json' }
import { choiceTable } from '../../../src/core/auto/choice-table.ts'
import { parseChatRequest } from '../../../src/core/calls/chat-request.ts'
import { builtCatalog } from '../../helpers/built-catalog.ts'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')

const tasks = read('test/fixtures/auto/tasks.jsonl')
  .trim()
  .split('\n')
  .map((line) => {
    const { id, ...body } = JSON.parse(line)
    return { id, ...parseChatRequest(body).content }
  })

test('what the shipped catalog chooses for forty tasks is the committed table, which router choices prints', () => {
  expect(tasks).toHaveLength(40)
  const table = choiceTable(tasks, builtCatalog([builtin, modelQuality, outputTokens]))
  const committed = read('test/fixtures/auto/choices.md')
    .split('\n')
    .filter((line) => line.startsWith('|'))
  expect(table).toEqual(committed)
})
