import { expect, test } from 'vitest'
import { createLineSplitter, createTerminalLines } from '../../tools/launcher/processes/process-output.ts'

function collect() {
  const shown: string[] = []
  let clock = 0
  const lines = createTerminalLines({
    name: 'api',
    logPath: 'logs/api.log',
    write: (text) => shown.push(text),
    now: () => clock,
  })
  const advance = (ms: number) => {
    clock += ms
  }
  return { shown, lines, advance }
}

test('shows warnings and worse, and nothing below', () => {
  const { shown, lines } = collect()
  lines.show('{"level":30,"msg":"fine"}', 'stdout')
  lines.show('{"level":40,"msg":"careful"}', 'stdout')
  lines.show('{"level":50,"err":{"message":"no route"},"msg":"away"}', 'stdout')
  expect(shown).toEqual(['[api] warning: careful\n', '[api] error: away (no route)\n'])
})

test('names provider, status and reason of a failed attempt and of an opened breaker', () => {
  const { shown, lines } = collect()
  const failed = {
    level: 40,
    callId: 'chatcmpl_1',
    offerId: 'openai/gpt-5-mini',
    kind: 'refused',
    httpStatus: 401,
    providerMessage: 'Incorrect API key provided: [key]',
    msg: 'attempt failed',
  }
  lines.show(JSON.stringify(failed), 'stdout')
  lines.show('{"level":50,"subject":"provider openai","reason":"refused","msg":"a breaker opened"}', 'stdout')
  expect(shown).toEqual([
    '[api] warning: attempt failed (openai/gpt-5-mini, refused, HTTP 401, "Incorrect API key provided: [key]")\n',
    '[api] error: a breaker opened (provider openai, refused)\n',
  ])
})

test('shows a stack trace on standard error, and no stray output', () => {
  const { shown, lines } = collect()
  lines.show('Error: broken', 'stderr')
  lines.show('hello', 'stdout')
  expect(shown).toEqual(['[api] Error: broken\n'])
})

test('a flood becomes one line that names the log file, and later lines are shown again', () => {
  const { shown, lines, advance } = collect()
  for (let count = 0; count < 1000; count++) lines.show('{"level":50,"msg":"again"}', 'stdout')
  expect(shown.at(-1)).toContain('logs/api.log')
  expect(shown.length).toBeLessThan(20)
  advance(60_000)
  lines.show('{"level":50,"msg":"later"}', 'stdout')
  expect(shown.at(-1)).toContain('later')
})

test('puts lines together that arrive in pieces, even inside a character', () => {
  const lines: string[] = []
  const split = createLineSplitter((line) => lines.push(line))
  const bytes = Buffer.from('größe\nzwei\n')
  for (const byte of bytes) split(Buffer.of(byte))
  expect(lines).toEqual(['größe', 'zwei'])
})
