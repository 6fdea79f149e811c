import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { codeSamples } from '../../../src/core/api/surfaces/code-samples.ts'
import { SURFACE_EXAMPLES } from '../../../src/core/api/surfaces/surface-examples.ts'
import { SURFACES } from '../../../src/core/api/surfaces/surface-registry.ts'

const ORIGIN = 'https://gateway.example'
const AsyncFunction = (async () => undefined).constructor as new (...source: string[]) => unknown

const sampleOf = (id: string, lang: string) => {
  const surface = SURFACES.find((known) => known.id === id)!
  return codeSamples(surface, ORIGIN).find((sample) => sample.lang === lang)!.source
}

test('every surface has a sample in three languages, and those in JavaScript are programs', () => {
  for (const surface of SURFACES) {
    const samples = codeSamples(surface, ORIGIN)
    expect(samples.map(({ label }) => label)).toEqual(['curl', 'Python', 'JavaScript'])
    for (const { source } of samples) {
      expect(source).toContain(ORIGIN)
      expect(source.includes('SHUNTYARD_API_KEY')).toBe(surface.status !== 'Public')
    }
    const body = samples[2]!.source.replace(/^import .*$/gm, '')
    expect(() => new AsyncFunction(body), surface.id).not.toThrow()
  }
})

test('curl sends exactly the body that the registry has', () => {
  const script = sampleOf('chat-completions', 'Shell').replace(/^curl /, 'printf "%s\\0" ')
  const words = execFileSync('/bin/sh', ['-c', script], {
    encoding: 'utf8',
    env: { SHUNTYARD_API_KEY: 'sk-sy-1' },
  }).split('\0')
  expect(words[0]).toBe(`${ORIGIN}/v1/chat/completions`)
  expect(words).toContain('Authorization: Bearer sk-sy-1')
  expect(JSON.parse(words[words.indexOf('-d') + 1]!)).toEqual(SURFACE_EXAMPLES['chat-completions']!.body)
})

test('values of Python are written as Python has them', () => {
  expect(sampleOf('provider-keys.update', 'Python')).toBe(`import os

import requests

response = requests.patch(
    "${ORIGIN}/v1/provider-keys/pkey_01JABCDEFGHJKMNPQRSTVWXYZ0",
    headers={"Authorization": f"Bearer {os.environ['SHUNTYARD_API_KEY']}"},
    json={"disabled": True},
)
response.raise_for_status()
print(response.text)`)
})
