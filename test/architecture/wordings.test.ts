import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = resolve(import.meta.dirname, '../..')

/** Phrases that the glossary's terms replaced. */
const REPLACED = [
  'As the system',
  'Takes as input',
  'Longest answer',
  'Longest completion',
  'Also unavailable ones',
  'Dearest first',
  'For machines:',
  'This is no e-mail address',
  'E-mail address',
  'A few words in a row',
  'Email or password is wrong',
  'This email has an account',
  'Present password',
  'Change the password',
  'Tell me at',
  'Notify me at, USD',
  'The limit counts',
  'Requests a minute',
  'Calls at once',
  'Empty: never',
  'us included',
  'I have copied it',
  'from the next second on',
  'It is sealed before',
  'Store the key',
  'May be left out',
  'shared capacity when this key',
  'None chosen',
  'are in your balance',
  'no money moves, and',
  'Point at a day',
  'What it was',
  'What it cost',
  "title: 'The call'",
  'title="The call"',
  'Tokens in / out',
  "'Tokens in'",
  "'Tokens out'",
  'No model of that name',
  'Nobody serves',
  'Every provider that was tried',
  'An id of the catalog',
  'another base address',
  'There is no third way',
  'What operators did',
  'Actions of operators',
  'title="Held back"',
  'on probation',
  'Its own breaker',
  'Shared / all',
  'With our key',
  'no key of ours',
  'more than it brings in',
  'The document that holds',
  'They hold again',
  'Version of the edits',
  'Rates it had',
  'Back to the list price',
  'Compare and apply',
  'served by none',
  'Model that served',
  'Offer that served',
  'Wait for a worker',
  'Clients spend',
  'Margin of revenue',
  'The books are right',
  'The ledger is right',
  'nothing amiss',
  'Balances are the ledger',
  'at this second',
  'Taken by a worker',
  'Claimed by a worker',
  'This call runs',
  'It has not taken anything',
  'It has accepted nothing',
  'A real call',
  'Sorted are the latest',
  'One opaque entry',
  'The name that they gave it',
  'invites you to an organisation',
  'prompt and completion share',
  'Token source',
  'Known from',
  'outcomes so far',
  'goes back by',
  'what the balance does not have',
  'Most used here',
  'also not with customers',
  'The last hour is not over',
  'at their own speed',
  "Spending limit reached'",
  'Open the link</a>',
]

test('the former name of the project is only where a decision needs it', () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n')
  const links = git('ls-files', '--stage').filter((line) => line.startsWith('120000'))
  const targets = links.map((line) => readlinkSync(join(ROOT, line.split('\t')[1]!)))
  const paths = [...git('ls-files'), ...targets].filter((path) => /switchyard/i.test(path))
  expect([...paths, ...git('grep', '-Iil', 'switchyard')].filter(Boolean)).toEqual([
    'CHANGELOG.md',
    'docs/decisions/0163-the-name-is-shuntyard.md',
    // Part of what is stored: see derivationInfo.
    'src/platform/sealing.ts',
    'test/architecture/wordings.test.ts',
  ])
})

/** Every file whose texts people read. Decisions are of their time. */
function* texts(): Generator<string> {
  yield join(ROOT, 'README.md')
  for (const folder of ['web', 'src', 'docs']) {
    for (const entry of readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      const isText = entry.isFile() && /\.(tsx?|md|txt|html)$/.test(entry.name)
      if (isText && !/web\/dist|prisma-client|docs\/(decisions|reports)|core\/(router|auto)/.test(path))
        yield path
    }
  }
}

const isComment = (line: string): boolean => /^\s*(\/?\*|\/\/|\{\/\*)/.test(line)

test('texts for people have none of the phrases that were replaced', () => {
  const anyOfThem = new RegExp(REPLACED.map((phrase) => phrase.replace(/\W/g, '\\$&')).join('|'))
  const found = [...texts()].flatMap((path) =>
    readFileSync(path, 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        const [phrase] = (!isComment(line) && line.match(anyOfThem)) || []
        return phrase ? [`${relative(ROOT, path)}:${index + 1}: ${phrase}`] : []
      }),
  )
  expect(found).toEqual([])
})

/**
 * Words that leave open what a sentence is about. The subject, the action and the reason have plain words, for example
 * "not sent yet", "reports", "is replaced by".
 */
const OBLIQUE =
  /\b(?:who(?:so)?ever|nobody|no one|told|tells?|heard|hears?|stands? (?:in )?for|stood for|goes on|go on|went on|anew|becomes? of|became of|doubt\w*|elsewise|somehow|on its way|lets? on)\b/i

/** Stored data: the field of a call's job that has a reported failure, and the reason of its credit. */
const STORED = /'told'|'The call was charged, and its caller was told that it failed\.'/

/** The source files of the gateway, which log, answer errors and are read by programmers. */
function* sources(): Generator<string> {
  for (const folder of ['src', 'workers']) {
    for (const entry of readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name)
      if (entry.isFile() && /\.(ts|lua)$/.test(entry.name) && !path.includes('prisma-client')) yield path
    }
  }
}

/** The texts in the arguments of every call whose start matches: literals of two words or more. */
function* textsOfCalls(source: string, start: RegExp): Generator<string> {
  for (const { index, 0: opening } of source.matchAll(start)) {
    let end = index + opening.length
    for (let depth = 1; depth > 0 && end < source.length; end++) {
      if (source[end] === '(') depth++
      if (source[end] === ')') depth--
    }
    const args = source.slice(index + opening.length, end)
    for (const [, text] of args.matchAll(/'([^'\n]* [^'\n]*)'/g)) yield text!
  }
}

/** The lines of a file with an oblique word, by their place. */
const obliqueLinesOf = (path: string): string[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .flatMap((line, index) => {
      const [word] = line.match(OBLIQUE) ?? []
      return word && !STORED.test(line) ? `${relative(ROOT, path)}:${index + 1}: ${word}` : []
    })

/** The files of a folder that match. */
function* filesOf(folder: string, pattern: RegExp): Generator<string> {
  for (const entry of readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isFile() && pattern.test(entry.name) && !/web\/dist|\/fixtures\//.test(path)) yield path
  }
}

test('comments, names, log messages and errors of src and workers have no oblique word', () => {
  expect([...sources()].flatMap(obliqueLinesOf)).toEqual([])
})

test('docs, pages of the console and the schema of the database have no oblique word', () => {
  const files = [
    ...filesOf('docs', /\.md$/),
    ...filesOf('web', /\.(tsx?|css)$/),
    join(ROOT, 'prisma/schema.prisma'),
  ]
  expect(files.flatMap(obliqueLinesOf)).toEqual([])
})

/** The first text of each call of test, it and describe, and of those that a table makes. */
const TITLE = /(?:\b(?:test|it|describe)(?:\.\w+)*|[)`])\(\s*(['"`])((?:\\.|(?!\1).)*)\1/gs

test('titles of tests have no oblique word', () => {
  const found = [...filesOf('test', /\.tsx?$/)].flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(TITLE)]
      .map(([, , title = '']) => title)
      .filter((title) => OBLIQUE.test(title))
      .map((title) => `${relative(ROOT, path)}: ${title}`),
  )
  expect(found).toEqual([])
})

test('log messages begin with their subject: no article, no pronoun, no sentence', () => {
  const found = [...sources()].flatMap((path) =>
    [...textsOfCalls(readFileSync(path, 'utf8'), /\blogger\.(?:trace|debug|info|warn|error|fatal)\(/g)]
      .filter((text) => /^(?:an?|the|what|it|this|our|your) |\.$|^(?!Ollama )[A-Z][a-z]+ /.test(text))
      .map((text) => `${relative(ROOT, path)}: ${text}`),
  )
  expect(found).toEqual([])
})

test('errors of the API are full sentences', () => {
  const found = [...sources()].flatMap((path) =>
    [...readFileSync(path, 'utf8').matchAll(/new ApiError\(\s*'[a-z_]+',\s*'([^'\n]+)'(?!\s*\+)/g)]
      .filter(([, text]) => !/^[A-Z`"].*[.!?]$/.test(text!))
      .map(([, text]) => `${relative(ROOT, path)}: ${text}`),
  )
  expect(found).toEqual([])
})
