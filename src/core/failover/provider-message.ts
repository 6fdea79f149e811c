/** Maximum length of a provider's message in a log line, a call's record, or an error to its key's owner. */
const MESSAGE_CHARS_MAX = 300

/** A longer request is not searched for quotations: its provider's message is dropped. */
export const REQUEST_CHARS_MAX = 256 * 1024

const KEY = '[key]'
const TARGET = '[target]'
const QUOTED = '[…]'

/** Keys in the formats of providers, also partly masked; and long runs of mixed letters and digits. */
const KEY_SHAPES = [
  /\b(?:sk|pk|rk|gsk|xai|hf|pplx|csk|nvapi)[-_][\w*.•…-]{4,}/gi,
  /\bBearer [\w*.•…-]{6,}/gi,
  /\bAIza[\w*.-]{8,}/g,
  /\b(?=[\w*.-]*\d)(?=[\w*.-]*[A-Za-z])[\w*-]{24,}/g,
]

/** A run of this many words of the request (see WORD) counts as a quotation. */
const QUOTATION_WORDS = 4
/** A shorter text in quotation marks is more likely the name of a field. */
const QUOTED_CHARS_MIN = 4

/**
 * Removes keys, names of targets and quotations of the request from the message of a provider's error; one line. Null
 * if nothing is left or the request is too long to be searched. Pure.
 * @param secrets keys that the request was sent with
 * @param targets the model and the host that it was sent to
 * @param request the texts of the request
 */
export function safeProviderMessage(
  message: string,
  { secrets, targets, request }: Record<'secrets' | 'targets' | 'request', readonly string[]>,
): string | null {
  if (request.reduce((sum, text) => sum + text.length, 0) > REQUEST_CHARS_MAX) return null
  const line = message.replace(/[\s\p{Cc}]+/gu, ' ').trim()
  const withoutNames = [
    ...secrets.map((secret) => (text: string) => text.replaceAll(keyIn(secret), KEY)),
    ...targets.map((target) => (text: string) => text.replace(wholeName(target), TARGET)),
    ...KEY_SHAPES.map((shape) => (text: string) => text.replace(shape, KEY)),
  ].reduce((text, remove) => remove(text), line.slice(0, 2 * MESSAGE_CHARS_MAX))
  const safe = withoutQuotations(withoutNames, request)
  if (safe.replaceAll(QUOTED, '').trim() === '') return null
  return safe.length > MESSAGE_CHARS_MAX ? `${safe.slice(0, MESSAGE_CHARS_MAX)}…` : safe
}

/** A shorter key may be part of a word: only one that stands alone is removed. */
const KEY_CHARS_MIN = 8

const keyIn = (secret: string): string | RegExp =>
  secret.length < KEY_CHARS_MIN ? wholeName(secret) : secret

const wholeName = (name: string): RegExp =>
  new RegExp(`(?<![\\w-])${name.replace(/[^\w]/g, '\\$&')}(?![\\w-])`, 'gi')

/** A word, or a character in scripts without spaces between words. */
const WORD =
  /[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]|[[\p{L}\p{M}\p{N}_]--[\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]]+/gv

function withoutQuotations(message: string, request: readonly string[]): string {
  const prompt = request.join('\n').replace(/\s+/g, ' ')
  // Some providers quote as JSON.
  const prompts = message.includes('\\') ? [prompt, JSON.stringify(prompt)] : [prompt]
  const isQuoted = (text: string) => prompts.some((spelled) => spelled.includes(text))
  return withoutRuns(message, isQuoted).replace(
    /(["'`“«])(.+?)(["'`”»])/g,
    (whole, open, inner: string, close) =>
      inner.length >= QUOTED_CHARS_MIN && isQuoted(inner) ? `${open}${QUOTED}${close}` : whole,
  )
}

/** Replaces each quotation, a long enough run of words, by one mark. */
function withoutRuns(text: string, isQuoted: (run: string) => boolean): string {
  const words = Array.from(text.matchAll(WORD), ({ 0: word, index }) => ({
    from: index,
    to: index + word.length,
  }))
  let safe = ''
  let [takenTo, hidden] = [0, { from: 0, to: 0 }]
  const hide = () => {
    if (hidden.to === 0) return
    safe += text.slice(takenTo, hidden.from) + QUOTED
    takenTo = hidden.to
  }
  for (const [index, { from }] of words.entries()) {
    const last = words[index + QUOTATION_WORDS - 1]
    if (!last || !isQuoted(text.slice(from, last.to))) continue
    // The previous word belongs to the last run, so the quotation continues.
    const goesOn = index > 0 && words[index - 1]!.to <= hidden.to
    if (!goesOn) hide()
    hidden = { from: goesOn ? hidden.from : from, to: last.to }
  }
  hide()
  return safe + text.slice(takenTo)
}

/** The texts inside a JSON value, such as the messages of a request; at most as much as can be searched. */
export function textsOf(value: unknown): string[] {
  const texts: string[] = []
  let chars = 0
  const visit = (inner: unknown): void => {
    if (chars > REQUEST_CHARS_MAX) return
    if (typeof inner === 'string') {
      texts.push(inner)
      chars += inner.length
    } else if (typeof inner === 'object' && inner !== null)
      for (const part of Object.values(inner)) visit(part)
  }
  visit(value)
  return texts
}
