import { execFileSync } from 'node:child_process'
import { describe, expect, test } from 'vitest'
import {
  curlCode,
  requestCode,
  type ShownRequest,
  withoutFiles,
} from '../../../web/lib/playground/request-code.ts'

const TEXT = `it's "quoted" $HOME \`id\` \\ and\na new line`
const CHAT = {
  origin: 'https://gateway.example',
  path: '/v2/chat/completions',
  body: { model: 'auto', messages: [{ role: 'user', content: TEXT }], stream: true, stop: null, seed: 7 },
}
const SPEECH = {
  origin: CHAT.origin,
  path: '/v1/audio/speech',
  body: { model: 'm', input: TEXT },
  output: 'speech.mp3',
}
const FORM: ShownRequest = {
  origin: CHAT.origin,
  path: '/v1/audio/transcriptions',
  form: [
    ['model', 'm'],
    ['file', { file: 'night train.wav' }],
  ],
}

describe('the playground as code', () => {
  test.each([CHAT, SPEECH])('lets curl send exactly the body of $path', (request) => {
    const script = curlCode(request).replace(/^curl /, 'printf "%s\\0" ')
    const env = { SHUNTYARD_API_KEY: 'sk-sy-secret' }
    const words = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8', env }).split('\0')
    expect(words[0]).toBe(request.origin + request.path)
    expect(words).toContain('Authorization: Bearer sk-sy-secret')
    expect(JSON.parse(words[words.indexOf('-d') + 1] ?? '')).toEqual(request.body)
  })

  test('lets curl send a text that begins with @ as a text, and files as files', () => {
    const code = curlCode({ ...FORM, form: [...FORM.form!, ['prompt', '@yard']] })
    expect(code).toContain("-F 'file=@night train.wav'")
    expect(code).toContain("--form-string 'prompt=@yard'")
  })

  test('is JavaScript that parses', () => {
    const code = requestCode('javascript', CHAT)
    expect(
      () => new Function(`return async (OpenAI) => { ${code.replace(/^import .*$/gm, '')} }`),
    ).not.toThrow()
    expect(code).toContain('process.env.SHUNTYARD_API_KEY')
  })

  test('is Python with words of Python, for the client at the address of the page', () => {
    const code = requestCode('python', CHAT)
    expect(code).toContain('base_url="https://gateway.example/v2"')
    expect(code).toContain('stream=True')
    expect(code).toContain('stop=None')
    expect(code).toContain(`"content": ${JSON.stringify(TEXT)}`)
  })

  test('files are replaced by placeholders in the code of a request', () => {
    const url = `data:image/png;base64,${'A'.repeat(1_000)}`
    expect(withoutFiles({ image: { url } })).toEqual({
      image: { url: 'data:image/png;base64,<base64 of the file>' },
    })
  })
})
