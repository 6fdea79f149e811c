import type { ContentListener } from '../../providers/provider.ts'

/** A listener that also says, once, that content has begun to come. */
export function announcingFirst(listener: ContentListener, announce: () => void): ContentListener {
  let isAnnounced = false
  const first = () => {
    if (isAnnounced) return
    isAnnounced = true
    announce()
  }
  return {
    text(text) {
      first()
      listener.text(text)
    },
    refusal(text) {
      first()
      listener.refusal(text)
    },
    toolCalls(deltas) {
      first()
      listener.toolCalls(deltas)
    },
    thinking(bytes) {
      listener.thinking?.(bytes)
    },
  }
}
