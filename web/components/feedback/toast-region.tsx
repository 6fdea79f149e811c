import { X } from 'lucide-react'
import {
  Button,
  UNSTABLE_ToastRegion as Region,
  Text,
  UNSTABLE_Toast as Toast,
  UNSTABLE_ToastContent as ToastContent,
  UNSTABLE_ToastQueue as ToastQueue,
} from 'react-aria-components'

const SHOWN_MS = 6_000
const SHOWN_MAX = 3

const queue = new ToastQueue<{ message: string }>({ maxVisibleToasts: SHOWN_MAX })

export const addToast = (message: string): void => void queue.add({ message }, { timeout: SHOWN_MS })

/** Where toasts appear. */
export const ToastRegion = () => (
  <Region queue={queue} className="stack gap-2 fixed right-4 bottom-4 z-60 w-[min(24rem,calc(100vw-2rem))]">
    {({ toast }) => (
      <Toast toast={toast} className="toast">
        <ToastContent className="min-w-0 flex-1">
          <Text slot="title">{toast.content.message}</Text>
        </ToastContent>
        <Button
          slot="close"
          className="button button-quiet button-icon button-small text-inherit"
          aria-label="Dismiss"
        >
          <X size={16} aria-hidden="true" />
        </Button>
      </Toast>
    )}
  </Region>
)
