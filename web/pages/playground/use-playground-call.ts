import { useEffect, useRef, useState } from 'react'
import { failureOf, jsonBody, messageOf, path, reach } from '../../api/request.ts'
import { readCompletionStream, type StreamPart, type StreamUsage } from '../../lib/completion-stream.ts'

export interface PlaygroundState {
  /**
   * idle → waiting (sent, nothing received yet) → streaming → done, failed (refused, or broke off: see `error`) or
   * stopped (by the reader).
   */
  phase: 'idle' | 'waiting' | 'streaming' | 'done' | 'failed' | 'stopped'
  text: string
  callId: string | null
  /** From sending to the first text, as this browser saw it. */
  firstTokenMs: number | null
  durationMs: number | null
  finishReason: string | null
  usage: StreamUsage | null
  error: string | null
}

const IDLE: PlaygroundState = {
  phase: 'idle',
  text: '',
  callId: null,
  firstTokenMs: null,
  durationMs: null,
  finishReason: null,
  usage: null,
  error: null,
}

/** A chat completion, and the key to make it with. */
type PlaygroundBody = { key_id: string } & Record<string, unknown>

type Update = (change: (state: PlaygroundState) => PlaygroundState) => void

/** Runs one call at a time and shows how far it is. Leaving the page stops it, as any client that goes away does. */
export function usePlaygroundCall() {
  const [state, setState] = useState(IDLE)
  const running = useRef<AbortController | null>(null)
  useEffect(() => () => running.current?.abort(), [])
  return {
    state,
    stop: () => running.current?.abort(),
    start: (body: PlaygroundBody) => {
      running.current?.abort()
      const controller = new AbortController()
      running.current = controller
      setState({ ...IDLE, phase: 'waiting' })
      // Events of a call that was replaced must not change the one on screen.
      const update: Update = (change) => running.current === controller && setState(change)
      void runCall(body, controller.signal, update)
    },
  }
}

async function runCall(
  { key_id: keyId, ...body }: PlaygroundBody,
  signal: AbortSignal,
  update: Update,
): Promise<void> {
  const startedAt = performance.now()
  const elapsed = () => performance.now() - startedAt
  const end = (change: Partial<PlaygroundState>) =>
    update((state) => ({ ...state, durationMs: elapsed(), ...change }))
  try {
    const response = await reach(path`/console/api/playground/chat-completions?key_id=${keyId}`, {
      method: 'POST',
      ...jsonBody(body),
      signal,
    })
    if (!response.ok) throw await failureOf(response)
    update((state) => ({ ...state, callId: response.headers.get('x-call-id') }))
    let isWhole = false
    for await (const part of readCompletionStream(bytesOf(response))) {
      update((state) => withPart(state, part, elapsed()))
      if (part.kind === 'done') isWhole = true
      if (part.kind === 'error') return end({ phase: 'failed' })
    }
    end(
      isWhole
        ? { phase: 'done' }
        : { phase: 'failed', error: 'The connection broke before the completion was whole.' },
    )
  } catch (error) {
    if (signal.aborted) end({ phase: 'stopped' })
    else
      end({ phase: 'failed', error: error instanceof TypeError ? 'The connection broke.' : messageOf(error) })
  }
}

function withPart(state: PlaygroundState, part: StreamPart, elapsedMs: number): PlaygroundState {
  switch (part.kind) {
    case 'text':
      return {
        ...state,
        phase: 'streaming',
        text: state.text + part.text,
        callId: part.callId ?? state.callId,
        firstTokenMs: state.firstTokenMs ?? elapsedMs,
      }
    case 'finish':
      return { ...state, finishReason: part.reason, usage: part.usage, callId: part.callId ?? state.callId }
    case 'error':
      return { ...state, error: part.message, callId: part.callId ?? state.callId }
    case 'done':
      return state
  }
}

/** Not every browser lets a stream be iterated. */
async function* bytesOf({ body }: Response): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader()
  if (!reader) return
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    reader.releaseLock()
  }
}
