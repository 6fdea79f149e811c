import { Link } from '@tanstack/react-router'
import { callProblem } from '../../lib/calls/call-problem.ts'
import { Note } from './messages.tsx'

/** Why a call did not complete and what to do; nothing for one that did. `status`: the HTTP status of its error. */
export function CallProblemNote(props: { call: Parameters<typeof callProblem>[0]; status?: number | null }) {
  const { call, status = null } = props
  const problem = callProblem(call)
  if (!problem) return null
  return (
    <Note tone={call.status === 'failed' ? 'bad' : 'warn'}>
      <div className="stack gap-2">
        <p className="row items-baseline gap-x-3 gap-y-0">
          <strong>{problem.title}</strong>
          {call.error_code && (
            <code className="text-sm">
              {status !== null && `${status} `}
              {call.error_code}
            </code>
          )}
        </p>
        <p>{problem.detail}</p>
        {problem.remedy && (
          <p>
            {problem.remedy}{' '}
            <Link to="/docs/$page" params={{ page: 'errors' }} hash="retries">
              Errors and retries
            </Link>
          </p>
        )}
      </div>
    </Note>
  )
}
