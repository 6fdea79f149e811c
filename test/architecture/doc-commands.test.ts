import { execFile } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_COMMANDS, parseAdmin } from '../../src/cli/admin.ts'
import { COMMANDS } from '../../tools/launcher/bootstrap/commands.mjs'
import { DOC_PAGES } from '../../web/lib/docs/doc-pages.ts'
import { WRITTEN_ADDRESS } from '../../web/lib/docs/doc-text.ts'

/**
 * Every shell block of the docs. Blocks of the console's pages that call the gateway run in doc-examples.test.ts, blocks
 * that only set variables or write files run here, and commands of the project are read by the parsers that read
 * them from the command line. Programs of others are listed with the reason why they do not run in a test.
 */
const ROOT = resolve(import.meta.dirname, '../..')
const PAGES = [
  ...['README.md', 'CONTRIBUTING.md', '.github/SECURITY.md'],
  ...readdirSync(join(ROOT, 'docs')).map((name) => `docs/${name}`),
].filter((page) => page.endsWith('.md') && existsSync(join(ROOT, page)))

const ELSEWHERE: Record<string, string> = {
  npx: 'installs packages from a registry; the package has its own test',
  'npm install': 'installs packages for the whole machine',
  kubectl: 'needs a cluster; the chart has its own test',
  helm: 'needs a cluster; the chart has its own test',
  cp: 'writes to the system of a production host; the units have their own test',
  systemctl: 'needs a production host; the units have their own test',
  gh: 'asks the release of a repository',
  docker: 'needs a container runtime',
  cline: 'an agent of others; it runs in the release gate',
  '.ci/run': 'runs the whole suite, from a clean clone',
}

const SCRIPTS = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).scripts as Record<string, string>
const ENTRIES = COMMANDS as Record<string, { entry: string }>

const BLOCKS = PAGES.flatMap((page) => {
  const text = readFileSync(join(ROOT, page), 'utf8')
  return [...text.matchAll(/^\s*```(?:sh|bash|shell|console)\n([\s\S]*?)^\s*```/gm)].map(
    ([, code = ''], index) => ({
      page,
      number: index + 1,
      code,
    }),
  )
})

/** Blocks that doc-examples.test.ts runs. */
const runsElsewhere = ({ page, code }: (typeof BLOCKS)[number]) =>
  DOC_PAGES.some(({ file }) => page === `docs/${file}`) &&
  code.includes(WRITTEN_ADDRESS) &&
  !code.includes('…')

/** A block of assignments, exports and here-documents, which runs anywhere. */
const isPlain = ({ code }: { code: string }) =>
  commandsOf(code.replace(/<<'END'\n[\s\S]*?^END$/gm, '').replace(/='\{\n[\s\S]*?^\}'$/gm, '=x')).every(
    (line) => /^(export |[A-Z_0-9]+=\S*|mkdir -p ~|cat > ~)/.test(line),
  ) && !/^[A-Z_0-9]+=\S+ +(?!#)\w/m.test(code)

/** The commands of a block: lines with what continues them, without comments. */
function commandsOf(code: string): string[] {
  const lines = code.replace(/\\\n/g, ' ').split('\n')
  return lines.map((line) => line.replace(/(^|\s)#\s.*$/, '').trim()).filter((line) => line !== '')
}

let home: string
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'shuntyard-docs-'))
})
afterAll(() => rm(home, { recursive: true, force: true }))

test('there are blocks of every kind', () => {
  expect(BLOCKS.filter(runsElsewhere).length).toBeGreaterThan(5)
  expect(BLOCKS.filter(isPlain).length).toBeGreaterThan(5)
  expect(BLOCKS.length).toBeGreaterThan(25)
})

test.each(BLOCKS.filter((block) => !runsElsewhere(block)))(
  'the commands of block $number of $page work',
  async (block) => {
    if (isPlain(block)) {
      const env = { PATH: process.env.PATH ?? '', HOME: home, PUBLIC_KEY: 'a', SECRET_KEY: 'b' }
      await promisify(execFile)('/bin/sh', ['-eu', '-c', block.code], { env })
      return
    }
    for (const line of commandsOf(block.code))
      for (const command of line.split(' · ')) checkCommand(command, line)
  },
)

test.each([
  'npm run admin -- account show --emial a@b.c',
  'npm run admin -- account shew a@b.c',
  'npm run audit -- --fully',
  'npm run nothing',
  'npm test -- test/no/such.test.ts',
  'shuntyard dance',
  'dance --now',
])('a command that does not exist is found: %s', (line) => {
  expect(() => checkCommand(line, line)).toThrow()
})

/** Throws for a command that does not exist, or not with these options. `line` has what an alternative of it leaves out. */
function checkCommand(command: string, line: string): void {
  const words = wordsOf(command)
  const [program = '', ...rest] = words
  if (program === 'shuntyard') return checkOwn(rest[0] ?? '', rest.slice(1), line)
  if (program === 'npm' && rest[0] === 'run') return checkOwn(rest[1] ?? '', rest.slice(2), line)
  if (program === 'npm' && (rest[0] === 'start' || rest[0] === 'test'))
    return checkOwn(rest[0], rest.slice(1), line)
  const [ofLine, run, script = ''] = wordsOf(line)
  // What follows a dot is another use of the same command.
  if (command !== line && !line.startsWith(command) && ofLine === 'npm' && run === 'run')
    return checkOwn(script, words, line)
  if (!Object.hasOwn(ELSEWHERE, program) && !Object.hasOwn(ELSEWHERE, `${program} ${rest[0]}`))
    throw new Error(`"${command}" is no command of the project, and not in the list of those of others`)
}

function checkOwn(name: string, given: string[], line: string): void {
  if (!Object.hasOwn(SCRIPTS, name) && !Object.hasOwn(ENTRIES, name))
    throw new Error(`there is no command ${name}`)
  const args = given.filter((word) => word !== '--' && word !== '|')
  if (name === 'admin') return checkAdmin(args, line)
  if (name === 'test') {
    const missing = args.filter((word) => word.startsWith('test/') && !existsSync(join(ROOT, word)))
    if (missing.length > 0) throw new Error(`there is no ${missing}`)
    return
  }
  const source = sourceOf(ENTRIES[name]!.entry)
  for (const word of args.filter((each) => each.startsWith('--'))) {
    const option = word.slice(2)
    if (!new RegExp(`--${option}\\b|'?\\b${option}'?: \\{`).test(source))
      throw new Error(`npm run ${name} has no option ${word}`)
  }
}

/** The source of an entry and of its parts: bench.ts and bench-options.ts. */
function sourceOf(entry: string): string {
  const [folder, name] = [dirname(join(ROOT, entry)), basename(entry, '.ts')]
  const parts = readdirSync(folder).filter((file) => file === `${name}.ts` || file.startsWith(`${name}-`))
  return parts.map((file) => readFileSync(join(folder, file), 'utf8')).join('\n')
}

/** Each alternative of `list|show`, with the first of every value. */
function checkAdmin(args: string[], line: string): void {
  const groups = Object.keys(ADMIN_COMMANDS).map((known) => known.split(' ')[0])
  const isGroup = groups.includes(args[0]?.split('|')[0] ?? '')
  const [group = '', action = '', ...rest] = isGroup ? args : [wordsOf(line)[4] ?? '', ...args]
  for (const each of action.split('|'))
    parseAdmin([group, each, ...rest.map((word) => word.split('|')[0] ?? '')])
}

/** The words of a command, without the brackets of what is optional. */
const wordsOf = (command: string): string[] =>
  [
    ...command
      .replace(/(^|\s)\[(.*?)\](?=\s|$)/g, ' $2')
      .replace(/[[\]]/g, '')
      .matchAll(/"[^"]*"|'[^']*'|\S+/g),
  ].map(([word]) => word.replace(/^["']|["']$/g, ''))
