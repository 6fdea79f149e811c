import { useCallback, useEffect, useRef, useState } from 'react'
import { newReference } from '../../api/request.ts'
import type { ChatSettings } from '../../lib/playground/chat-settings.ts'
import {
  type Conversation,
  changeLast,
  chatBody,
  continued,
  isBusy,
  type LanePlace,
  newConversation,
  retried,
  type UserMessage,
  withLane,
  withoutTurns,
  withTurn,
} from '../../lib/playground/conversation.ts'
import { runChat } from './run-chat.ts'

/** One conversation: what was said so far, and everything that can be done with it. Leaving the page stops its calls. */
export function useConversation(keyId: string, initial: ChatSettings) {
  const [conversation, setConversation] = useState(() => newConversation(newReference(), initial, Date.now()))
  // The current conversation: a call reads it when it starts and updates it for each part of its stream.
  const present = useRef(conversation)
  const running = useRef(new Set<AbortController>())

  const change = useCallback((to: (conversation: Conversation) => Conversation) => {
    present.current = to(present.current)
    setConversation(present.current)
  }, [])
  const stop = useCallback(() => {
    for (const controller of running.current) controller.abort()
  }, [])
  useEffect(() => stop, [stop])

  const run = (place: LanePlace) => {
    const { id } = present.current
    const controller = new AbortController()
    running.current.add(controller)
    const body = chatBody(present.current, place)
    const done = runChat(keyId, body, controller.signal, (update) => {
      // The conversation may have been replaced by another.
      if (present.current.id === id)
        change((before) => ({
          ...withLane(before, place, changeLast(update)),
          updatedAt: Date.now(),
        }))
    })
    void done.finally(() => running.current.delete(controller))
  }
  const send = (message: UserMessage, id = newReference()) => {
    change((before) => withTurn(before, id, message))
    const turn = present.current.turns.length - 1
    for (const lane of present.current.settings.models.keys()) run({ turn, lane })
  }

  return {
    conversation,
    isBusy: isBusy(conversation),
    stop,
    send: (message: UserMessage) => send(message),
    /** Replaces a turn by another message; the turns after it are dropped. */
    resend: (turn: number, message: UserMessage) => {
      const id = present.current.turns[turn]?.id
      change((before) => withoutTurns(before, turn))
      send(message, id)
    },
    retry: (place: LanePlace) => {
      change((before) => withLane(before, place, retried))
      run(place)
    },
    sendToolResults: (place: LanePlace, results: readonly string[]) => {
      change((before) => withLane(before, place, continued(results)))
      run(place)
    },
    setSettings: (settings: ChatSettings) => change((before) => ({ ...before, settings })),
    /** Shows another conversation. */
    open: (other: Conversation) => {
      stop()
      change(() => other)
    },
    startNew: () => {
      stop()
      change(({ settings }) => newConversation(newReference(), settings, Date.now()))
    },
  }
}
