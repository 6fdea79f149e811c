import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import type { KeyView } from '../../src/core/api/keys.ts'
import { keysQuery, modelsQuery, sessionQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { SelectField } from '../components/form/fields.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { NO_SETTINGS } from '../lib/playground/chat-settings.ts'
import { ChatTab } from './playground/chat-tab.tsx'
import { SurfaceTabs } from './playground/surface-tabs.tsx'

/** Tries models with a key of the account: calls are charged like any other. */
export function PlaygroundPage() {
  return (
    <QueryView query={useQuery(keysQuery)}>
      {({ data }) => {
        const active = data.filter(({ state }) => state === 'active')
        return active.length > 0 ? <Playground keys={active} /> : <NoKey />
      }}
    </QueryView>
  )
}

const HEAD = {
  title: 'Playground',
  description:
    'Calls models with one of your keys and is charged like any other call. Conversations are stored in this browser only.',
}

function NoKey() {
  return (
    <>
      <PageHead {...HEAD} />
      <Panel title="No key yet">
        <EmptyState
          icon={KeyRound}
          action={
            <Link to="/keys" className="button button-primary">
              Create a key
            </Link>
          }
        >
          The playground calls with one of your API keys, so that its limits apply. Create one first.
        </EmptyState>
      </Panel>
    </>
  )
}

function Playground({ keys }: { keys: KeyView[] }) {
  const { model = 'auto' } = useSearch({ from: '/account/playground' })
  const { data: session } = useQuery(sessionQuery)
  const { data: catalog } = useQuery(modelsQuery)
  const [chosenKey, setChosenKey] = useState(keys[0]?.id ?? '')
  const keyId = keys.some(({ id }) => id === chosenKey) ? chosenKey : (keys[0]?.id ?? '')
  const chatModels = (catalog?.models ?? []).filter(({ kind }) => kind === undefined)
  return (
    <>
      <PageHead
        {...HEAD}
        actions={
          <SelectField
            label="API key"
            value={keyId}
            onChange={setChosenKey}
            options={keys.map(({ id, name, hint }) => ({ value: id, name: `${name} (${hint})` }))}
          />
        }
      />
      {session && (
        <SurfaceTabs keyId={keyId} models={catalog?.models ?? []}>
          <ChatTab
            accountId={session.account.id}
            keyId={keyId}
            initial={{ ...NO_SETTINGS, models: [model] }}
            models={chatModels}
          />
        </SurfaceTabs>
      )}
    </>
  )
}
