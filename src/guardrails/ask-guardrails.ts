import { Counter, type Registry } from 'prom-client'
import type { GuardedText, GuardPoint, Guardrail, TestGuardrail } from '../core/guardrails/guardrail.ts'
import type { GuardedPost } from '../platform/network/guarded-post.ts'
import { causeOf, type Logger } from '../platform/observability/logger.ts'
import type { Sealer } from '../platform/sealing.ts'
import type { AskGuardrail, GuardedCall, Verdict } from './adapter.ts'
import { askHttp } from './ask-http.ts'
import { askModeration } from './ask-moderation.ts'
import { askPresidio } from './ask-presidio.ts'

/** The judgement over all guardrails; replaced texts were replaced. */
export type Judgement =
  | { kind: 'allowed'; isReplaced: boolean; addedBytes: number }
  | { kind: 'denied'; code: string; message: string }
  /** One did not answer as it should, and denies then. */
  | { kind: 'failed' }

const ADAPTERS: Record<Guardrail['kind'], AskGuardrail> = {
  http: askHttp,
  moderation: askModeration,
  presidio: askPresidio,
}

/** Characters of all texts that are shown at once, and those of a stream that is held back. */
export const GUARDED_CHARS_MAX = 8 * 1024 * 1024

export interface AskGuardrailsOptions {
  sealer: Sealer
  post: GuardedPost
  registry: Registry
  logger: Pick<Logger, 'warn'>
  clock: () => number
}

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
    const verdict = await ADAPTERS[guardrail.kind](texts, {
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

  /** Judges a sample. */
  const test: TestGuardrail = async (guardrail, point, { text, ...about }) => {
    const nothing = { code: null, message: null, text: null }
    const call = { ...about, callId: null, model: 'test', user: null, key: { id: '', name: 'test' } }
    try {
      const verdict = await ask(guardrail, point, call, [text])
      if (verdict.action === 'replace') return { ...nothing, action: 'replace', text: verdict.texts[0]! }
      return { ...nothing, ...verdict }
    } catch (error) {
      return { ...nothing, action: 'failed', message: causeOf(error) }
    }
  }

  return {
    test,

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
      for (const guardrail of texts.length > 0 ? guardrails : []) {
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
          const cause = causeOf(error)
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
