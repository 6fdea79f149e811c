import { useQuery } from '@tanstack/react-query'
import type { SessionEntry } from '../../../src/core/api/sessions.ts'
import { sessionsQuery } from '../../api/queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { useAction } from '../../api/use-change.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { formatMoment } from '../../lib/format.ts'

const PATH = '/console/api/sessions'

/** Where the account is signed in. */
export function SessionsPanel() {
  const query = useQuery(sessionsQuery)
  const endOthers = useAction({
    send: () => requestJson('DELETE', PATH),
    stale: [PATH],
    done: 'All other sessions have ended.',
  })
  const hasOthers = (query.data?.data.length ?? 0) > 1
  return (
    <Panel
      title="Sessions"
      actions={
        hasOthers && (
          <Button size="small" disabled={endOthers.isPending} onClick={() => endOthers.run()}>
            Sign out all others
          </Button>
        )
      }
    >
      <QueryView query={query}>
        {({ data }) => (
          <DataTable
            caption="Where this account is signed in"
            rows={data}
            columns={{
              Device: ({ device, current, network_address: address }) => (
                <TwoLines second={`${address}${current ? ' · this session' : ''}`}>
                  {device || 'Unknown device'}
                </TwoLines>
              ),
              'Signed in': ({ created_at: at }) => formatMoment(at),
              'Last used': ({ last_used_at: at }) => formatMoment(at),
              Actions: (session) => !session.current && <SignOut session={session} />,
            }}
          />
        )}
      </QueryView>
    </Panel>
  )
}

function SignOut({ session: { id, device } }: { session: SessionEntry }) {
  const end = useAction({
    send: () => requestJson('DELETE', path`/console/api/sessions/${id}`),
    stale: [PATH],
    done: 'The session has ended.',
  })
  return (
    <Button
      size="small"
      disabled={end.isPending}
      about={device || 'unknown device'}
      onClick={() => end.run()}
    >
      Sign out
    </Button>
  )
}
