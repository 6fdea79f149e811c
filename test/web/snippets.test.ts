import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import { snippet } from '../../web/lib/snippets.ts'

const facts = { origin: 'https://gateway.example', apiKey: 'sk-sy-secret', model: 'auto' }

describe('snippets', () => {
  test('lets curl send exactly the body meant, whatever a prompt holds', () => {
    const prompt = `it's "quoted" $HOME \`id\` \\ and\na new line`
    const script = snippet('curl', { ...facts, prompt }).replace(/^curl /, 'printf "%s\\0" ')
    const words = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' }).split('\0')
    const body = JSON.parse(words[words.indexOf('-d') + 1] ?? '')
    expect(words[0]).toBe('https://gateway.example/v1/chat/completions')
    expect(words).toContain('Authorization: Bearer sk-sy-secret')
    expect(body).toEqual({ model: 'auto', messages: [{ role: 'user', content: prompt }] })
  })

  test.each(['javascript', 'python'] as const)(
    'points the %s client at the address of the page',
    (language) => {
      const code = snippet(language, { ...facts, model: 'acme/large-1' })
      expect(code).toContain('"https://gateway.example/v1"')
      expect(code).toContain('"sk-sy-secret"')
      expect(code).toContain('"acme/large-1"')
    },
  )

  test('makes JavaScript that parses, whatever the model is called', () => {
    const code = snippet('javascript', { ...facts, model: `a'b"c` })
    const body = code.replace(/^import .*$/m, '')
    expect(() => new Function(`return async (OpenAI) => { ${body} }`)).not.toThrow()
  })
})
