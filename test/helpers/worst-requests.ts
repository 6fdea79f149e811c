import { withoutPassages } from '../../src/core/auto/difficulty/prompt-features.ts'
import { readTurns } from '../../src/core/auto/difficulty/score-turns.ts'
import { parseChatRequest } from '../../src/core/calls/chat-request.ts'
import { parseContentPart } from '../../src/core/calls/content-part.ts'
import { functionNaming } from '../../src/core/calls/function-names.ts'
import { readInput } from '../../src/core/calls/responses-input.ts'
import { scanJson } from '../../src/core/json/json-text.ts'
import { tooLargeSchema } from '../../src/core/json/schema-limits.ts'
import { sampleTexts } from '../../src/core/kernel/text-pieces.ts'
import { promptTokensBound } from '../../src/core/text-tokens/prompt-tokens.ts'
import { textTokensBound } from '../../src/core/text-tokens/text-bound.ts'
import { threadTasks } from '../../src/platform/process/thread-tasks.ts'
import type { Transformation } from './linear-time.ts'
import { needsOf } from './plan-of.ts'
import { bytes, MB, many, messagesOf, request, upTo } from './worst-inputs.ts'

const VALUES = 100_000
/** What is larger is parsed in a thread. */
const INLINE_BODY_BYTES = 512 * 1024
const rareIdeographs = (size: number) =>
  many(size, (index) => String.fromCharCode(0x4e00 + ((index * 7_919) % 20_000))).join('')

const LIMITS = { depth: 256, values: VALUES }
const scan = (json: Buffer) => scanJson(json, LIMITS)
const parse = (json: string) => JSON.parse(json)

const dataPart = (data: string) => ({ type: 'file', file: { file_data: data } })
const readPart = (part: unknown) => parseContentPart(part, 'user', 'content[0]')

/** What callers send, at its worst, on its way through an API instance. */
export const REQUESTS: Transformation[] = [
  // Bodies, up to the size that is parsed in a thread.
  ...Object.entries({
    spaces: (size: number) => ' '.repeat(size),
    'escaped quotes': (size: number) => `"${upTo(size, '\\"')}"`,
    backslashes: (size: number) => `"${upTo(size, '\\\\')}"`,
    'short strings': (size: number) => upTo(size, '"a"'),
    brackets: (size: number) => upTo(size, '[]'),
    'nesting without end': (size: number) => '['.repeat(size),
  }).map(([name, text]) => ({
    name: `scan: ${name}`,
    size: INLINE_BODY_BYTES,
    input: (size: number) => bytes(text(size)),
    run: scan,
  })),
  ...Object.entries({
    names: (size: number) => `{${many(Math.floor(size / 11), (index) => `"k${index}":1`).join(',')}}`,
    'objects of different shapes': (size: number) =>
      `[${many(Math.floor(size / 13), (i) => `{"k${i}":1}`).join(',')}]`,
    numbers: (size: number) => `[${upTo(size, '1.234567890123456789e-5,')}1]`,
    'one long number': (size: number) => '1'.repeat(size),
    'escaped characters': (size: number) => `"${upTo(size, '\\u6f22')}"`,
  }).map(([name, text]) => ({ name: `parse: ${name}`, size: INLINE_BODY_BYTES, input: text, run: parse })),

  // What a body becomes.
  {
    name: 'request: values',
    size: VALUES / 4,
    input: (size) => messagesOf(many(size, () => ({ type: 'text', text: 'a' }))),
    run: parseChatRequest,
  },
  {
    name: 'request: names in tools',
    size: 50_000,
    input: (size) => ({ ...messagesOf('x'), tools: [Object.fromEntries(many(size, (i) => [`k${i}`, i]))] }),
    run: parseChatRequest,
  },
  {
    name: 'response: function calls of one turn',
    size: VALUES / 4,
    input: (size) => many(size, (i) => ({ type: 'function_call', call_id: `${i}`, name: 'f' })),
    run: (input: never) =>
      readInput({ input }, { history: [], openReasoning: () => null }, functionNaming([])),
  },
  {
    name: 'request: needs',
    size: VALUES / 4,
    input: (size) => request(many(size, () => ({ type: 'text', text: 'a' }))),
    run: needsOf,
  },
  ...Object.entries({
    'base64 that ends in lines and is none': (size: number) => `data:image/png;base64,${'\n'.repeat(size)}!`,
    'base64 that ends in equals signs and is none': (size: number) =>
      `data:image/png;base64,A${'='.repeat(size)}!`,
    'an image': (size: number) => `data:image/png;base64,${'A'.repeat(size)}`,
    'a JPEG of endless segments': (size: number) => `data:image/jpeg;base64,/9j${'/'.repeat(size)}`,
    'a PDF of pages': (size: number) =>
      `data:application/pdf;base64,${bytes(upTo((size * 3) / 4, '/Type/Page ')).toString('base64')}`,
    'a PDF of half a page': (size: number) =>
      `data:application/pdf;base64,${bytes(upTo((size * 3) / 4, '/Type    ')).toString('base64')}`,
    'percent-encoded text': (size: number) => `data:text/plain,${upTo(size, '%E6%BC%A2')}`,
    'a header of parameters': (size: number) => `data:image/png${upTo(size, ';a=b')}`,
    'an address': (size: number) => `https://${upTo(size, 'a.')}`,
  }).map(([name, url]) => ({
    name: `content part: ${name}`,
    size: 16 * MB,
    input: (size: number) => dataPart(url(size)),
    run: readPart,
  })),

  // Bounds and scores.
  ...Object.entries({
    'one word': 'a',
    words: 'word ',
    spaces: ' ',
    lines: '\n',
    'musical symbols': '\ud834\udd5e',
    'squared letters': '\ud83c\udd30',
    'combining marks': 'a\u0301',
    'lone surrogates': '\udd5e',
  }).map(([name, piece]) => ({
    name: `text bound: ${name}`,
    size: MB,
    input: (size: number) => upTo(size, piece),
    run: textTokensBound,
  })),
  {
    name: 'prompt bound: a long text',
    size: 31 * MB,
    input: (size) => request('a'.repeat(size)).content.messages,
    run: (messages: never) => promptTokensBound(messages, {}),
  },
  {
    name: 'difficulty: one long text',
    size: 31 * MB,
    input: (size) => request(upTo(size, 'word. ')).content.messages,
    run: (messages: never) => readTurns(messages, {}),
  },
  {
    name: 'difficulty: parts and turns',
    size: 1_024,
    input: (size) =>
      parseChatRequest(
        messagesOf(
          many(10, () => ({ type: 'text', text: upTo(2_000, 'A. b\n') })),
          size,
        ),
      ).content.messages,
    run: (messages: never) => readTurns(messages, {}),
  },
  ...Object.entries({
    quotations: ' "word',
    fences: '```\n',
    'open tags': '<a>\n',
    items: 'a,b,c,d\n',
    'blocks of code': 'if (',
    'labels in one line': 'text. Question: ',
  }).map(([name, piece]) => ({
    name: `passages: ${name}`,
    // More than the 12,000 characters that are read of a prompt, so that growth shows.
    size: 100_000,
    input: (size: number) => `Why?\n${upTo(size, piece)}`,
    run: withoutPassages,
  })),
  {
    name: 'schema: references that multiply',
    size: 1_900,
    input: (size) => ({
      response_format: {
        type: 'json_schema',
        json_schema: {
          schema: {
            properties: Object.fromEntries(many(size, (i) => [`r${i}`, { $ref: '#/$defs/b' }])),
            $defs: { b: { properties: Object.fromEntries(many(size, (i) => [i, {}])) } },
          },
        },
      },
    }),
    run: tooLargeSchema,
  },
  {
    name: 'schema: parts of allOf',
    size: 4_000,
    input: (size) => ({
      tools: [
        {
          function: {
            parameters: { allOf: many(size, (i) => ({ properties: { [i]: {} }, required: [`${i}`] })) },
          },
        },
      ],
    }),
    run: tooLargeSchema,
  },
  {
    name: 'schema: one reference to another',
    size: 9_000,
    input: (size) => ({
      tools: [
        {
          function: {
            parameters: {
              $ref: '#/$defs/0',
              $defs: Object.fromEntries(many(size, (i) => [i, { $ref: `#/$defs/${i + 1}` }])),
            },
          },
        },
      ],
    }),
    run: tooLargeSchema,
  },

  // What is prepared for a thread.
  {
    name: 'count: a sample of a long text',
    size: 31 * MB,
    input: (size) => ['a'.repeat(size)],
    run: (texts: never) => sampleTexts(texts, 200_000),
  },
  {
    name: 'count: a sample of many texts',
    size: 100_000,
    input: (size) => many(size, () => 'abc'),
    run: (texts: never) => sampleTexts(texts, 200_000),
  },
]

/** The same for what runs in threads. */
export const IN_THREADS: Transformation[] = [
  ...Object.entries({
    'rare ideographs': rareIdeographs,
    letters: (size: number) => 'a'.repeat(size),
    'random letters': (size: number) =>
      many(size, (index) => String.fromCharCode(97 + ((index * 7_919) % 26))).join(''),
    spaces: (size: number) => ' '.repeat(size),
    signs: (size: number) => upTo(size, '=+-*/!?'),
    emoji: (size: number) => upTo(size, '😀👩‍👩‍👧'),
  }).map(([name, text]) => ({
    name: `count: ${name}`,
    size: 200_000,
    input: (size: number) => [text(size)],
    run: threadTasks.countTokens,
  })),
  {
    name: 'parse: spaces',
    size: 31 * MB,
    input: (size) => ({ bytes: bytes(' '.repeat(size)), limits: LIMITS }),
    run: threadTasks.parseJson,
  },
  {
    name: 'parse: long names',
    size: 31 * MB,
    input: (size) => ({
      bytes: bytes(`{${many(40_000, (i) => `"${String(i).padEnd(size / 40_000 - 5, 'k')}":1`).join(',')}}`),
      limits: LIMITS,
    }),
    run: threadTasks.parseJson,
  },
  {
    name: 'parse: schemas that parsing changes',
    size: 31 * MB,
    input: (size) => ({
      bytes: bytes(`{"user":"${upTo(size / 2, '\\"')}","tools":["${upTo(size / 8, '\\"')}",1.0]}`),
      limits: LIMITS,
    }),
    run: threadTasks.parseJson,
  },
]
