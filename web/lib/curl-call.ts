/** What a snippet is about. */
export interface SnippetFacts {
  /** The gateway's address without a path: the page's own origin. */
  origin: string
  /** Shown in full only where it was just made. */
  apiKey: string
  model: string
  prompt?: string
}

export const SNIPPET_PROMPT = 'Why do trains need shunting yards?'

/** A first call for a shell. Apart from other languages: the landing page shows this one alone. */
export const curlCall = ({ origin, apiKey, model, prompt = SNIPPET_PROMPT }: SnippetFacts): string =>
  `curl ${shellQuoted(`${origin}/v1/chat/completions`)} \\
  -H ${shellQuoted(`Authorization: Bearer ${apiKey}`)} \\
  -H 'Content-Type: application/json' \\
  -d ${shellQuoted(JSON.stringify({ model, messages: [{ role: 'user', content: prompt }] }))}`

/** For a POSIX shell: nothing inside single quotes means anything but a single quote. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
