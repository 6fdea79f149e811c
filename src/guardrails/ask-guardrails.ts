import { Counter, type Registry } from 'prom-client'
import type { GuardedText, GuardPoint, Guardrail } from '../core/guardrails/guardrail.ts'
import type { GuardedPost } from '../platform/network/guarded-post.ts'
import type { Logger } from '../platform/observability/logger.ts'
import type { Sealer } from '../platform/sealing.ts'
import { askHttp } from './ask-http.ts'

/** What a guardrail gets to know of a call besides its texts. */
export interface GuardedCall {
  /** Of the request. */
  id: string
  /** Null: not admitted yet. */
  callId: string | null
  model: string
  /** The end user that the request names; null: none, or an answer. */
  user: string | null
  accountId: string
  key: { id: string; name: string }
}

export type Verdict =
  | { action: 'allow' }
  /** `code` and `message` are the service's, for the client. */
  | { action: 'deny'; code: string; message: string }
  | { action: 'replace'; texts: readonly string[] }

/** The judgement over all guardrails; replaced texts were replaced. */
export type Judgement =
  | { kind: 'allowed'; isReplaced: boolean; addedBytes: number }
  | { kind: 'denied'; code: string; message: string }
  /** One did not answer as it should, and denies then. */
  | { kind: 'failed' }

/** What an adapter asks a service with. Its failures are errors. */
export interface AskedGuardrail extends Guardrail {
  secret: string | null
  point: GuardPoint
  call: GuardedCall
  post: (url: string, body: string, headers?: Record<string, string>) => Promise<string>
  nowMs: number
}

/** Asks the service of a guardrail. Rejects for an answer that is none. */
export type AskGuardrail = (texts: readonly string[], guardrail: AskedGuardrail) => Promise<Verdict>

const ADAPTERS: Partial<Record<Guardrail['kind'], AskGuardrail>> = { http: askHttp }

/** Characters of all texts that are shown at once, and those of a stream that is held back. */
export const GUARDED_CHARS_MAX = 8 * 1024 * 1024

export interface AskGuardrailsOptions {
  sealer: Sealer
  post: GuardedPost
  registry: Registry
  logger: Pick<Logger, 'warn'>
  clock: () => number
}

export type GuardrailAsker = ReturnType<typeof createGuardrailAsker>

/** Asks the services of guardrails about texts. */
export function createGuardrailAsker({ sealer, post, registry, logger, clock }: AskGuardrailsOptions) {
  const outcomes = new Counter({
    name: 'shuntyard_guardrails_asked_total',
    help: 'Requests to guardrails, by point (prompt, completion) and outcome (allow, deny, replace, failed).',
    labelNames: ['point', 'outcome'],
    registers: [registry],
  })

  /** Throws for every failure. */
  const ask = async (
    guardrail: Guardrail,
    point: GuardPoint,
    call: GuardedCall,
    texts: readonly string[],
    signal?: AbortSignal,
  ): Promise<Verdict> => {
    if (texts.reduce((sum, text) => sum + text.length, 0) > GUARDED_CHARS_MAX)
      throw new Error('the texts are too long')
    const { id, secretSealed, timeoutMs } = guardrail
    const verdict = await ADAPTERS[guardrail.kind]!(texts, {
      ...{ ...guardrail, point, call, nowMs: clock() },
      secret: secretSealed === null ? null : sealer.open(secretSealed, id),
      async post(url, body, headers = {}) {
        const result = await post(url, body, { headers, timeoutMs, ...(signal && { signal }) })
        if (result.kind === 'unanswered') throw new Error(result.error)
        const { statusCode, body: answer } = result
        if (statusCode < 200 || statusCode > 299) throw new Error(`status ${statusCode}`)
        if (answer === null) throw new Error('the answer is too long, or broke off')
        return answer
      },
    })
    if (verdict.action === 'replace') {
      if (!guardrail.mayReplace) throw new Error('it may not replace texts')
      if (verdict.texts.length !== texts.length) throw new Error('it replaces another number of texts')
    }
    return verdict
  }

  return {
    ask,

    /**
     * Asks guardrails, one after the other, and replaces texts; each is shown what those before it left. An aborted request
     * counts as failed.
     */
    async judge(
      guardrails: readonly Guardrail[],
      point: GuardPoint,
      call: GuardedCall,
      texts: readonly GuardedText[],
      signal?: AbortSignal,
    ): Promise<Judgement> {
      let current = texts.map(({ text }) => text)
      for (const guardrail of guardrails) {
        if (texts.length === 0 || !guardrail.points.includes(point)) continue
        try {
          const verdict = await ask(guardrail, point, call, current, signal)
          if (verdict.action === 'replace') {
            refuseFixed(texts, current, verdict.texts)
            current = [...verdict.texts]
          }
          outcomes.inc({ point, outcome: verdict.action })
          if (verdict.action === 'deny') return { ...verdict, kind: 'denied' }
        } catch (error) {
          if (signal?.aborted) return { kind: 'failed' }
          outcomes.inc({ point, outcome: 'failed' })
          const { accountId } = call
          const cause = error instanceof Error ? error.message : String(error)
          logger.warn({ guardrailId: guardrail.id, accountId, point, cause }, 'guardrail failed')
          if (guardrail.onFailure === 'deny') return { kind: 'failed' }
        }
      }
      let isReplaced = false
      let addedBytes = 0
      for (const [index, { text, replace }] of texts.entries()) {
        const replacing = current[index]!
        if (replacing === text) continue
        isReplaced = true
        addedBytes += Buffer.byteLength(replacing) - Buffer.byteLength(text)
        replace!(replacing)
      }
      return { kind: 'allowed', isReplaced, addedBytes }
    },
  }
}

/** Throws if a text is replaced that cannot be, or the arguments of a tool by what is no JSON. */
function refuseFixed(
  texts: readonly GuardedText[],
  current: readonly string[],
  replacing: readonly string[],
): void {
  for (const [index, { replace, isJson }] of texts.entries()) {
    const [before, after] = [current[index]!, replacing[index]!]
    if (before === after) continue
    if (!replace) throw new Error('it replaces a text that cannot be replaced')
    if (isJson && parses(before) && !parses(after)) throw new Error('it replaces JSON by what is none')
  }
}

function parses(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    // That is the answer.
    return false
  }
}
