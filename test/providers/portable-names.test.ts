import { expect, test } from 'vitest'
import { portableName } from '../../src/core/calls/function-names.ts'
import { googleGenerateContent } from '../../src/providers/chat-to-google.ts'
import { wireFor } from '../../src/providers/kinds/provider-kinds.ts'
import { offerAt } from '../helpers/scripted-provider.ts'

test('a chat has portable names on the wire of Google, and the names of its client in the completion', () => {
  const offer = offerAt('https://api.example/v1')
  const wire = wireFor(
    {
      content: {
        kind: 'chat',
        extended: true,
        messages: [{ role: 'user', content: 'Hi' }],
        parameters: { tools: [{ type: 'function', function: { name: '2fa' } }] },
      },
      offer: { ...offer, provider: { ...offer.provider, wire: 'google-generate-content' } },
      accountId: 'acct_1',
      completionLimit: 64,
      limits: { firstTokenMs: 1, idleMs: 1, totalMs: 1 },
      signal: new AbortController().signal,
    },
    googleGenerateContent,
  )
  expect(JSON.parse(wire.request(null).body as string).tools[0].functionDeclarations[0].name).toBe(
    portableName('2fa'),
  )
  const events: unknown[] = []
  const functionCall = { name: portableName('2fa'), args: {} }
  wire
    .openReader()
    .event(JSON.stringify({ candidates: [{ content: { parts: [{ functionCall }] } }] }), (event) => {
      events.push(event)
    })
  expect(events).toMatchObject([['tool-calls', [{ function: { name: '2fa' } }]]])
})
