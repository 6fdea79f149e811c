import { describe, expect, test } from 'vitest'
import { withoutPassages } from '../../../../src/core/auto/difficulty/prompt-features.ts'
import { SHIPPED_MODEL, scorePrompt } from '../../../../src/core/auto/difficulty/score-turns.ts'

const QUESTION = 'In which year was the northern bridge opened?'
const PARAGRAPH =
  'The railway reached the valley in 1874, when a consortium of 12 merchants from Harrowgate financed 48 miles of narrow-gauge track. Its first engineer, Adelaide Quimby, planned three viaducts; the longest, of wrought iron on granite piers, crosses the gorge at a height of 212 feet. '
const PASSAGE = PARAGRAPH.repeat(3).trim()
const LINES = Array.from(
  { length: 10 },
  (_, index) =>
    `Report ${index} of the survey states that the piers and the deck were in good condition again that year.`,
).join('\n')
const CODE = Array.from(
  { length: 12 },
  (_, index) =>
    `def part_${index}(values):\n    total = sum(values) + ${index}\n    return total / len(values)\n`,
).join('\n')
const ROWS = Array.from({ length: 40 }, (_, index) => [
  `Town ${index}`,
  `${1900 + index}`,
  `${index * 7}`,
  `${index % 5}`,
])
const OPTIONS = 'A. 1874\nB. 1880\nC. 1891\nD. 1902\nAnswer:'

describe('a passage is cut, and what is asked about it stays', () => {
  test.each([
    ['a labelled paragraph', `Passage: ${PASSAGE}\nQuestion: ${QUESTION}\nAnswer:`],
    ['the same in one line', `Passage: ${PASSAGE} Question: ${QUESTION} Answer:`],
    ['a paragraph before the question', `${PASSAGE}\n\n${QUESTION}`],
    ['a paragraph after it', `${QUESTION}\n\n${PASSAGE}`],
    [
      'a paragraph that ends in the question, after an instruction',
      `Answer from the text.\n\n${PASSAGE} ${QUESTION}`,
    ],
    ['many lines of prose', `${LINES}\n\n${QUESTION}`],
    ['a quotation in the same line', `${QUESTION} "${PASSAGE}"`],
    ['quoted lines', `${LINES.replace(/^/gm, '> ')}\n\n${QUESTION}`],
    ['a tagged document', `<document id="1">\n${PASSAGE}\n</document>\n${QUESTION}`],
    ['numbered sources', `Use the sources.\n[1] ${PASSAGE}\n[2] ${LINES}\n\nQuestion: ${QUESTION}`],
    ['a passage before lettered options', `${PASSAGE}\n${QUESTION}\n${OPTIONS}`],
    ['code between fences', `${QUESTION}\n\`\`\`python\n${CODE}\`\`\``],
    ['code without', `${QUESTION}\n\n${CODE}`],
    ['a table between bars', `${ROWS.map((row) => `| ${row.join(' | ')} |`).join('\n')}\n\n${QUESTION}`],
    ['values between commas', `${QUESTION}\n${ROWS.map((row) => row.join(',')).join('\n')}`],
    ['values between tabs', `${QUESTION}\n${ROWS.map((row) => row.join('\t')).join('\n')}`],
  ])('%s', (_, prompt) => {
    const kept = withoutPassages(prompt)
    expect(kept).toContain(QUESTION)
    expect(kept.length).toBeLessThan(QUESTION.length + OPTIONS.length + 40)
    expect(scorePrompt(prompt, SHIPPED_MODEL)).toBeLessThan(scorePrompt(QUESTION, SHIPPED_MODEL) + 0.1)
  })

  test.each([
    ['Summarize this text.', `Summarize this text.\n\n${PASSAGE}`],
    ['Summarize this text:', `Summarize this text: ${PASSAGE}`],
    ['Translate the above into French.', `${PASSAGE}\n\nTranslate the above into French.`],
  ])('%s', (instruction, prompt) => {
    expect(withoutPassages(prompt).trim()).toBe(instruction)
  })
})

describe('what is asked is not cut', () => {
  test.each([
    ['a short prompt', QUESTION],
    ['a long question in one paragraph', `${PASSAGE} ${QUESTION}`],
    ['text without a question or an instruction', `${PASSAGE}\n\n${PASSAGE}`],
    ['code alone', CODE],
    ['options, however long', `${QUESTION}\nA. ${PASSAGE}\nB. ${PASSAGE}`],
    ['a list of conditions', `Which plan meets all of these?\n${LINES.replace(/^/gm, '- ')}`],
    [
      'conditions in short lines',
      `${Array.from({ length: 14 }, (_, index) => `House ${index} is left of the ${'red blue green'.split(' ')[index % 3]} one.`).join('\n')}\nWho owns the fish?`,
    ],
    ['a task that is stated at length', `Solve the following problem.\n\n${PASSAGE}\n\n${PASSAGE}\n\n3 4 5`],
    ['a task between tags', `<problem>\n${PASSAGE}\n</problem>\nSolve it.`],
  ])('%s', (_, prompt) => {
    expect(withoutPassages(prompt)).toBe(prompt)
  })
})
