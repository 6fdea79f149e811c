const MIB = 1024 * 1024

/** Near the limit of a body, in bytes. */
const LONGEST = 31 * MIB

/** A request for no model there is, so that nothing counts against anybody, with something long in a field that is ignored. */
const ignored = (value: string): Buffer =>
  Buffer.from(`{"model":"no/such","messages":[{"role":"user","content":"a"}],"ignored":${value}}`)

/** Bodies that take long to parse for their length, and how they are answered. */
export const LONG_BODIES: Record<string, { build: () => Buffer; status: number }> = {
  '2.2 million names': {
    build: () => ignored(`{${Array.from({ length: 2_200_000 }, (_, index) => `"k${index}":1`).join(',')}}`),
    status: 400,
  },
  'millions of empty arrays': { build: () => ignored(`[${'[],'.repeat(LONGEST / 3 - 100)}[]]`), status: 400 },
  'a million tiny content parts': {
    build: () => {
      const part = '{"type":"text","text":"a"},'
      const parts = `${part.repeat(LONGEST / part.length - 100)}${part.slice(0, -1)}`
      return Buffer.from(`{"model":"no/such","messages":[{"role":"user","content":[${parts}]}]}`)
    },
    status: 400,
  },
  'one string': { build: () => ignored(`"${'a'.repeat(LONGEST - 1_000)}"`), status: 413 },
}

/** So many megabytes of words, no two alike. */
export function longWords(megabytes: number): string {
  const words = (megabytes * MIB) / 8
  return Array.from({ length: words }, (_, index) => (index * 7_919).toString(36).padStart(7, 'q')).join(' ')
}

/** A schema of about 70 kB whose 1,900 references put a definition of many properties in place each. */
export function multiplyingSchema(): Record<string, unknown> {
  const numbered = (count: number, value: (index: number) => unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`r${index}`, value(index)]))
  return {
    type: 'object',
    properties: numbered(1_900, () => ({ $ref: '#/$defs/b' })),
    $defs: { b: { type: 'object', properties: numbered(1_900, () => 1) } },
  }
}

/** Texts that JSON repair takes time for which grows with their square. */
export const UNREPAIRABLE = [`[${'"a" b '.repeat(20_000)}`, `"${"'a ".repeat(60_000)}`] as const

/** Characters that vocabularies know few joined ones of, without a space: the worst a tokenizer can be given. */
export function rareCharacters(count: number): string {
  let seed = 7
  return Array.from({ length: count }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 0x80000000
    return String.fromCharCode(0x4e00 + ((seed >> 8) % 20_000))
  }).join('')
}

/** What begins as an image of 64 by 64 points, and has so many megabytes. */
export function largePng(megabytes: number): Buffer {
  const png = Buffer.alloc(megabytes * MIB)
  png.write('89504e470d0a1a0a0000000d49484452000000400000004008020000', 'hex')
  return png
}
