import { expect } from 'vitest'
import type { TestStack } from './stack.ts'

/** Every spelling in which a text could rest somewhere. */
const spellings = (secret: string): string[] => [
  secret,
  Buffer.from(secret).toString('hex'),
  Buffer.from(secret).toString('base64').replace(/=+$/, '').slice(0, -2),
]

/** Fails where one of the secrets is in a text, in any spelling; `where` names the text. */
export function expectAbsent(text: string, secrets: string[], where: string): void {
  for (const secret of secrets) {
    for (const spelling of spellings(secret)) {
      const at = text.indexOf(spelling)
      expect(at < 0 ? null : text.slice(Math.max(0, at - 200), at + 40), where).toBeNull()
    }
  }
}

/** Every key and value of Redis as text. */
export async function redisText({ redis }: TestStack): Promise<string> {
  const read: Record<string, (name: string) => Promise<unknown>> = {
    string: (name) => redis.get(name),
    hash: (name) => redis.hgetall(name),
    list: (name) => redis.lrange(name, 0, -1),
    set: (name) => redis.smembers(name),
    zset: (name) => redis.zrange(name, '0', '-1'),
    stream: (name) => redis.xrange(name, '-', '+'),
  }
  const pieces: string[] = []
  for (const name of await redis.keys('*')) {
    const type = await redis.type(name)
    // A key may expire between the two questions.
    if (type !== 'none') pieces.push(name, JSON.stringify(await read[type]!(name)))
  }
  expect(pieces.length).toBeGreaterThan(10)
  return pieces.join('\n')
}

/** Every row of every table as text. */
export async function postgresText({ postgres }: TestStack): Promise<string> {
  const tables = await postgres.$queryRaw<{ name: string }[]>`
    SELECT quote_ident(table_name) AS name FROM information_schema.tables WHERE table_schema = 'public'`
  const rows = await Promise.all(
    tables.map(({ name }) =>
      postgres.$queryRawUnsafe<{ row: string }[]>(`SELECT t::text AS row FROM ${name} t`),
    ),
  )
  const text = rows.flatMap((table) => table.map(({ row }) => row)).join('\n')
  expect(text).toContain('chatcmpl_')
  return text
}
