import pino from 'pino'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ByokKeyVault, VaultResult } from '../../../../src/byok/byok-key-vault.ts'
import { createAttemptChain } from '../../../../src/calls/worker/attempts/attempt-chain.ts'
import type { CallOutcome } from '../../../../src/core/calls/call-outcome.ts'
import type { BreakerBoard } from '../../../../src/offer-health/circuit-breaker/breaker-board.ts'
import type { RetryBudget } from '../../../../src/offer-health/retry-budget.ts'
import { createSign } from '../../../../src/providers/credentials/create-sign.ts'
import {
  createProviderClients,
  createTransport,
  type Transport,
} from '../../../../src/providers/provider-clients.ts'
import { WIRE_MAPPINGS } from '../../../../src/providers/wires.ts'
import { candidateOf, chatOf, envelopeOf, runningOf } from '../../../helpers/call-shapes.ts'
import { PATIENT } from '../../../helpers/chain-parts.ts'
import { snapshot } from '../../../helpers/planned-catalog.ts'
import {
  offerAt,
  refuses,
  type ScriptedProvider,
  startScriptedProvider,
  streams,
  wholeStream,
} from '../../../helpers/scripted-provider.ts'
import { stubOf } from '../../../helpers/stub-of.ts'

const SECRET = 'sk-client-0123456789abcdef'

let transport: Transport
let alpha: ScriptedProvider
let beta: ScriptedProvider
beforeAll(async () => {
  transport = createTransport({ connectTimeoutMs: 30_000 })
  alpha = await startScriptedProvider()
  beta = await startScriptedProvider()
})
afterAll(async () => {
  await transport.close()
  await alpha.close()
  await beta.close()
})

interface Run {
  outcome: CallOutcome
  reported: unknown[][]
  metered: unknown[]
  noted: unknown[][]
  log: string
}

/** A call on a BYOK key at alpha, then on shared capacity at beta where `fallback`. */
async function run(answer: VaultResult, { fallback = false, isBudgetLeft = true } = {}): Promise<Run> {
  const offers = [offerAt(alpha.baseUrl, {}, 'alpha/up'), offerAt(beta.baseUrl, {}, 'beta/up')]
  const catalog = snapshot([], offers)
  const report = vi.fn()
  const note = vi.fn()
  const metered: unknown[] = []
  const lines: string[] = []
  const isDown = { kind: 'down', untilMs: Date.now() + 60_000 } as const
  const board = stubOf<BreakerBoard>({
    health: (offerId) => (offerId === 'beta/up' ? { kind: 'ready' } : isDown),
    claimProbe: async () => null,
    report,
  })
  const vault: ByokKeyVault = { open: async () => answer, note, stop: async () => undefined }
  const chain = createAttemptChain({
    catalog: () => catalog,
    providers: createProviderClients({
      sign: createSign(Date.now),
      wires: WIRE_MAPPINGS,
      transport,
      ourKey: ({ apiKeyEnv }) => (apiKeyEnv === null ? null : 'sk-ours'),
      connectTimeoutMs: 30_000,
      now: Date.now,
    }),
    byokKeys: vault,
    board,
    meter: {
      operation: () => undefined,
      attempt: (_, record) => metered.push(record),
      answer: (served) => metered.push(served),
    },
    budget: stubOf<RetryBudget>({
      countCall: () => undefined,
      ask: async () => isBudgetLeft,
      close: async () => undefined,
    }),
    settings: PATIENT,
    logger: pino({ level: 'trace' }, { write: (line: string) => void lines.push(line) }),
    now: Date.now,
    random: () => 0,
  })
  const onKey = candidateOf({ offerId: 'alpha/up', providerKeyId: 'pkey_1' })
  const candidates = fallback ? [onKey, candidateOf({ offerId: 'beta/up' })] : [onKey]
  const envelope = envelopeOf({ stream: false, candidates, holdPico: '1000000' })
  const outcome = await chain(runningOf(envelope, chatOf()))
  return { outcome, reported: report.mock.calls, metered, noted: note.mock.calls, log: lines.join('') }
}
const opened: VaultResult = { kind: 'opened', secret: SECRET }
const toldCode = (outcome: CallOutcome) => (outcome.status === 'failed' ? outcome.error.code : outcome.status)

describe('an attempt on a BYOK key', () => {
  test('a BYOK attempt ignores our breaker and changes no shared health or measures', async () => {
    alpha.play(streams(wholeStream('Hello')))
    const { outcome, reported, metered, noted } = await run(opened)
    expect(outcome).toMatchObject({ status: 'completed', served: { providerKeyId: 'pkey_1' } })
    expect([reported, metered]).toEqual([[], []])
    expect(noted).toEqual([['pkey_1', 'accepted']])
  })

  test.each([
    [401, 'unauthorized'],
    [402, 'payment_required'],
    [403, 'forbidden'],
  ])('a %i is noted of the key as %s and of nothing else', async (status, reception) => {
    alpha.play(refuses(status, { message: `bad key ${SECRET}`, code: `bad ${SECRET}` }))
    const { outcome, reported, metered, noted, log } = await run(opened)
    expect(toldCode(outcome)).toBe('all_providers_failed')
    expect([reported, metered]).toEqual([[], []])
    expect(noted).toEqual([['pkey_1', reception]])
    expect(log).toContain('pkey_1')
    expect(log).not.toContain(SECRET)
    expect(JSON.stringify(outcome)).not.toContain(SECRET)
  })

  test('the owner, the log and the record of a BYOK attempt have the message of the provider without the key', async () => {
    alpha.play(refuses(400, { message: `Unsupported value: 'temperature' for ${SECRET}` }))
    const { outcome, log } = await run(opened)
    const said = "Unsupported value: 'temperature' for [key]"
    expect(outcome).toMatchObject({
      error: {
        code: 'invalid_request',
        param: 'temperature',
        message: `The model refuses \`temperature\` of this request as invalid. Check its value. The provider says: "${said}"`,
      },
      attempts: [{ outcome: 'bad-request', providerMessage: said }],
    })
    expect(JSON.parse(log.split('\n').find((line) => line.includes('BYOK'))!)).toMatchObject({
      providerMessage: said,
    })
  })

  test('whose provider cannot be reached says so to its owner, and notes it of the key', async () => {
    alpha.play((response) => void response.socket!.destroy())
    const { outcome, noted } = await run(opened)
    expect(outcome).toMatchObject({
      error: {
        code: 'all_providers_failed',
        message: expect.stringContaining('The provider of your provider key pkey_1 could not be reached.'),
      },
    })
    expect(noted).toContainEqual(['pkey_1', 'unreachable'])
  })

  test('says nothing of the key when the provider itself breaks or does not know the model', async () => {
    for (const status of [404, 429, 400]) {
      alpha.play(refuses(status, {}))
      expect((await run(opened)).noted).toEqual([])
    }
  })

  test('that failed takes nothing from the budget of retries: wrong keys must not spend what others live by', async () => {
    alpha.play(refuses(401))
    beta.play(streams(wholeStream('Hello')))
    const { outcome } = await run(opened, { fallback: true, isBudgetLeft: false })
    expect(outcome).toMatchObject({ status: 'completed', served: { offerId: 'beta/up' } })
  })

  test('a BYOK key that is deleted or cannot be read is skipped, and the call falls back where allowed', async () => {
    const before = alpha.requests.length
    expect(toldCode((await run({ kind: 'gone' })).outcome)).toBe('all_providers_failed')
    expect(toldCode((await run({ kind: 'unavailable' })).outcome)).toBe('overloaded')
    expect(alpha.requests.length).toBe(before)
    for (const kind of ['gone', 'unavailable'] as const) {
      beta.play(streams(wholeStream('Hello')))
      const { outcome, reported } = await run({ kind }, { fallback: true })
      expect(outcome).toMatchObject({ status: 'completed', served: { offerId: 'beta/up' } })
      expect(reported).toEqual([['beta/up', { kind: 'success' }, null, 'acct_1']])
    }
  })
})
