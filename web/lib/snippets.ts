import { curlCall, SNIPPET_PROMPT, type SnippetFacts } from './curl-call.ts'

export type SnippetLanguage = 'curl' | 'javascript' | 'python'

export const SNIPPET_LANGUAGES: ReadonlyArray<{ id: SnippetLanguage; name: string }> = [
  { id: 'curl', name: 'curl' },
  { id: 'javascript', name: 'JavaScript' },
  { id: 'python', name: 'Python' },
]

/** A first call, ready to paste. Values are quoted for their language, so none can break out of its string. */
export function snippet(language: SnippetLanguage, facts: SnippetFacts): string {
  const { origin, apiKey, model, prompt = SNIPPET_PROMPT } = facts
  const quoted = (text: string) => JSON.stringify(text)
  switch (language) {
    case 'curl':
      return curlCall(facts)
    case 'javascript':
      return `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: ${quoted(`${origin}/v1`)},
  apiKey: ${quoted(apiKey)},
})
const completion = await client.chat.completions.create({
  model: ${quoted(model)},
  messages: [{ role: 'user', content: ${quoted(prompt)} }],
})
console.log(completion.choices[0].message.content)`
    case 'python':
      return `from openai import OpenAI

client = OpenAI(
    base_url=${quoted(`${origin}/v1`)},
    api_key=${quoted(apiKey)},
)
completion = client.chat.completions.create(
    model=${quoted(model)},
    messages=[{"role": "user", "content": ${quoted(prompt)}}],
)
print(completion.choices[0].message.content)`
  }
}
