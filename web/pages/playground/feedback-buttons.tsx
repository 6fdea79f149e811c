import { ThumbsDown, ThumbsUp } from 'lucide-react'
import { path, requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { Button } from '../../components/form/button.tsx'

/** Thumbs for a call of `auto`, which learns from them. The last one counts. */
export function FeedbackButtons({ callId }: { callId: string }) {
  const { run, isPending } = useAction({
    send: (score: 'good' | 'bad') =>
      requestJson('POST', path`/console/api/calls/${callId}/feedback`, { score }),
    done: 'Thank you. Your feedback is stored.',
  })
  return (
    <>
      <Button
        icon={ThumbsUp}
        size="small"
        about="Good answer"
        disabled={isPending}
        onClick={() => run('good')}
      />
      <Button
        icon={ThumbsDown}
        size="small"
        about="Bad answer"
        disabled={isPending}
        onClick={() => run('bad')}
      />
    </>
  )
}
