import { type AttemptOutcome, NOTHING_PRODUCED } from '../../src/core/calls/attempt-outcome.ts'
import { messagesOf } from '../../src/core/calls/kinds/call-kinds.ts'
import type { Usage } from '../../src/core/calls/usage.ts'
import { attemptFailure } from '../../src/core/failover/attempt-failure.ts'
import type { ProviderClient } from '../../src/providers/wire.ts'
import type { AttemptResult } from '../helpers/attempt-result.ts'
import type { SeededRandom } from './seeded-random.ts'

/** What a provider does with one attempt. */
interface Script {
  /** When it answers its status; never after the first token. */
  statusMs: number
  firstTokenMs: number
  tokenMs: number
  /** Tokens said before it ends or breaks. */
  tokens: number
  end: 'finish' | 'broken-stream' | 'server-error' | 'hang'
  usage: Usage | null
}

/** The whole answer to a prompt: its length is in the prompt, so that it can be checked anywhere. */
export function answerTo(prompt: string, voice = ''): string {
  const words = Number(/words-(\d+)/.exec(prompt)?.[1] ?? 1)
  return Array.from({ length: words }, (_, index) => `${voice}w${index} `).join('')
}

/** Tells the answers of two attempts at one prompt apart, where they are unlike. */
export const voiceOf = (text: string): string => /^(.*?)w0 /.exec(text)?.[1] ?? ''

/** The tokens of a text, as the tokenizer of the simulation counts them. */
export const tokensOf = (text: string): number => (text === '' ? 0 : text.split(' ').length)

/** A provider that answers, fails, breaks off or hangs, and claims usage that may be anything. */
export function createSimulatedProvider(random: SeededRandom, nextVoice: () => string): ProviderClient {
  return {
    async attempt({ content, limits, completionLimit, signal }, onProgress): Promise<AttemptOutcome> {
      const messages = messagesOf(content)
      const prompt = String(messages[0]!.content)
      // A trailing assistant message is what was said already, to be continued.
      const said = messages.length > 1 ? String(messages.at(-1)!.content) : ''
      const voice = said ? voiceOf(said) : nextVoice()
      const tokens = answerTo(prompt, prompt.endsWith('unlike') ? voice : '')
        .slice(said.length)
        .split(/(?<= )/)
        .filter((token) => token !== '')
      const script = chooseScript(random, tokens.length, completionLimit)
      const statusAt = Date.now() + script.statusMs
      let firstTokenAt: number | null = null
      const end = (result: AttemptResult): AttemptOutcome => ({
        ...result,
        httpStatus: Date.now() < statusAt ? null : 200,
        firstTokenAt,
        malformedEvents: 0,
        produced: NOTHING_PRODUCED,
      })
      const deadline = Date.now() + limits.totalMs
      const isAborted = async (ms: number) => {
        await waited(Math.min(ms, Math.max(0, deadline - Date.now())), signal)
        return signal.aborted
      }
      if (await isAborted(Math.min(script.firstTokenMs, limits.firstTokenMs)))
        return end({ kind: 'cancelled' })
      if (script.firstTokenMs > limits.firstTokenMs)
        return end({ kind: 'failed', failure: attemptFailure('silent', 'said nothing') })
      if (script.end === 'server-error')
        return end({ kind: 'failed', failure: attemptFailure('server-error', 'simulated') })
      for (const token of tokens.slice(0, script.tokens)) {
        firstTokenAt ??= Date.now()
        onProgress(['text', token])
        if (await isAborted(script.tokenMs)) return end({ kind: 'cancelled' })
        if (Date.now() >= deadline)
          return end({ kind: 'failed', failure: attemptFailure('call-timeout', 'simulated') })
      }
      switch (script.end) {
        case 'finish':
          return end({ kind: 'finished', reason: 'stop', usage: script.usage })
        case 'broken-stream':
          return end({ kind: 'failed', failure: attemptFailure('broken-stream', 'simulated') })
        case 'hang':
          if (await isAborted(limits.idleMs)) return end({ kind: 'cancelled' })
          return end({ kind: 'failed', failure: attemptFailure('stalled', 'simulated') })
      }
    },
  }
}

function chooseScript(random: SeededRandom, words: number, completionLimit: number): Script {
  const end = random.chance(0.75)
    ? 'finish'
    : random.pick(['broken-stream', 'server-error', 'hang', 'broken-stream'] as const)
  const firstTokenMs = random.chance(0.1) ? random.whole(500, 1_500) : random.whole(1, 60)
  return {
    statusMs: Math.floor(firstTokenMs / 2),
    firstTokenMs,
    tokenMs: random.chance(0.2) ? random.whole(50, 300) : random.whole(0, 10),
    tokens: end === 'finish' ? words : random.whole(0, words),
    end,
    usage: claimedUsage(random, words, completionLimit),
  }
}

function claimedUsage(random: SeededRandom, words: number, completionLimit: number): Usage | null {
  if (random.chance(0.15)) return null
  if (random.chance(0.1)) return { promptTokens: 1e12, completionTokens: 1e15 }
  if (random.chance(0.1)) return { promptTokens: -5, completionTokens: Number.NaN }
  // A charge as high as its hold.
  if (random.chance(0.2)) return { promptTokens: 20, completionTokens: completionLimit }
  return { promptTokens: random.whole(5, 20), completionTokens: words }
}

/** Resolves after `ms` or when the signal is aborted. */
function waited(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const timer = setTimeout(resolve, ms)
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer)
        resolve()
      },
      { once: true },
    )
  })
}
