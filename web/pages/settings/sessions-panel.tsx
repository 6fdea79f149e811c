import { useQuery } from '@tanstack/react-query'
import { sessionsQuery } from '../../api/queries.ts'
import { path, requestJson } from '../../api/request.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { ActionButton } from '../../components/form/action-button.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { Moment } from '../../components/text/values.tsx'

const PATH = '/console/api/sessions'

/** Where the account is signed in. */
export function SessionsPanel() {
  const query = useQuery(sessionsQuery)
  const hasOthers = (query.data?.data.length ?? 0) > 1
  return (
    <Panel
      title="Sessions"
      actions={
        hasOthers && (
          <ActionButton
            size="small"
            action={{
              send: () => requestJson('DELETE', PATH),
              stale: [PATH],
              done: 'All other sessions have ended.',
            }}
          >
            Sign out all others
          </ActionButton>
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
              'Signed in': ({ created_at: at }) => <Moment at={at} />,
              'Last used': ({ last_used_at: at }) => <Moment at={at} />,
              Actions: ({ id, device, current }) =>
                !current && (
                  <ActionButton
                    size="small"
                    about={device || 'unknown device'}
                    action={{
                      send: () => requestJson('DELETE', path`/console/api/sessions/${id}`),
                      stale: [PATH],
                      done: 'The session has ended.',
                    }}
                  >
                    Sign out
                  </ActionButton>
                ),
            }}
          />
        )}
      </QueryView>
    </Panel>
  )
}
