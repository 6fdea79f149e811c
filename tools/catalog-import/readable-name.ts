/** Words that are not simply capitalized. Version numbers and sizes (`70b`, `a3b`, `v3.1`) follow rules below. */
const WORDS: Record<string, string> = {
  ai21: 'AI21',
  autoglm: 'AutoGLM',
  baichuan: 'Baichuan',
  c4ai: 'C4AI',
  cobuddy: 'CoBuddy',
  deepseek: 'DeepSeek',
  ernie: 'ERNIE',
  glm: 'GLM',
  gpt: 'GPT',
  kat: 'KAT',
  l3: 'L3',
  'l3.1': 'L3.1',
  minicpm: 'MiniCPM',
  minimax: 'MiniMax',
  mt: 'MT',
  mythomax: 'MythoMax',
  it: 'IT',
  openchat: 'OpenChat',
  openhermes: 'OpenHermes',
  oss: 'OSS',
  qwq: 'QwQ',
  rp: 'RP',
  vl: 'VL',
  wizardlm: 'WizardLM',
}

/** Models that their maker writes in lower case. */
const AS_WRITTEN = /^o\d$/
const SIZE = /^(?:a|e)?\d+(?:\.\d+)?[bk]$|^\d+x\d+b$|^[vmr]\d+(?:\.\d+)?(?:v\d+)?$/

const DATES: ReadonlyArray<readonly [RegExp, (...parts: string[]) => string]> = [
  [/-(20\d\d)-?(0[1-9]|1[0-2])-?([0-2]\d|3[01])$/, (year, month, day) => `${year}-${month}-${day}`],
  [/-(2[2-9])(0[1-9]|1[0-2])$/, (year, month) => `20${year}-${month}`],
  [/-(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])$/, (month, day) => `${month}-${day}`],
]

/** The date at the end of a model's name, as `2025-08-07`, `2025-08` or, without a year, `08-07`; null without one. */
export function dateOfName(name: string): { date: string; rest: string } | null {
  for (const [pattern, print] of DATES) {
    const match = pattern.exec(name)
    if (match) return { date: print(...match.slice(1)), rest: name.slice(0, match.index) }
  }
  return null
}

/** A name for people, of an id's last part: `gpt-4.1-mini-2025-04-14` becomes `GPT 4.1 Mini (2025-04-14)`. */
export function readableName(name: string): string {
  const { rest, remark } = remarkOf(name)
  const words = rest
    .split('-')
    .filter((word) => word !== '')
    .map(readableWord)
  return words.join(' ').replace(/^GPT (?=\d)/, 'GPT-') + (remark === null ? '' : ` (${remark})`)
}

function readableWord(word: string): string {
  if (AS_WRITTEN.test(word)) return word
  if (SIZE.test(word)) return word.toUpperCase().replace(/(?<=\d)X(?=\d)/, 'x')
  return WORDS[word] ?? word.charAt(0).toUpperCase() + word.slice(1)
}

function remarkOf(name: string): { rest: string; remark: string | null } {
  if (name.endsWith('-latest')) return { rest: name.slice(0, -'-latest'.length), remark: 'latest' }
  const dated = dateOfName(name)
  return dated ? { rest: dated.rest, remark: dated.date } : { rest: name, remark: null }
}

/**
 * Names that tell models apart: of several with the same name, the one whose id says just that keeps it, else the one
 * with the shortest id, and the others get what their ids add.
 */
export function distinctNames<Model extends { id: string; name?: string }>(
  models: readonly Model[],
): Model[] {
  const names = new Map<string, string>()
  const taken = new Set<string>()
  const tailOf = ({ id }: Model) => id.slice(id.lastIndexOf('/') + 1)
  const isOther = (model: Model) => Number(readableName(tailOf(model)) !== model.name)
  const inOrder = models.toSorted(
    (a, b) => isOther(a) - isOther(b) || a.id.length - b.id.length || (a.id < b.id ? -1 : 1),
  )
  for (const model of inOrder) {
    const tail = tailOf(model)
    const { name = readableName(tail) } = model
    const { remark } = remarkOf(tail)
    const candidates = [
      name,
      ...(remark === null ? [] : [`${name} (${remark})`]),
      readableName(tail),
      `${name} (${tail})`,
    ]
    const chosen = candidates.find((candidate) => !taken.has(candidate)) ?? model.id
    taken.add(chosen)
    names.set(model.id, chosen)
  }
  return models.map((model) => ({ ...model, name: names.get(model.id)! }))
}
