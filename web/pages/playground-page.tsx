import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import { keysQuery, modelsQuery, sessionQuery } from '../api/queries.ts'
import { EmptyState, QueryView, SkeletonLines } from '../components/feedback/messages.tsx'
import { SelectField } from '../components/form/fields.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { findModel } from '../lib/models/model-catalog.ts'
import { NO_SETTINGS } from '../lib/playground/chat-settings.ts'
import { ChatTab } from './playground/chat-tab.tsx'

/** Tries models with a key of the account: calls are charged like any other. */
export function PlaygroundPage() {
  const query = useQuery(keysQuery)
  const [chosenKey, setChosenKey] = useState<string | null>(null)
  const keys = (query.data?.data ?? []).filter(({ state }) => state === 'active')
  const keyId = keys.find(({ id }) => id === chosenKey)?.id ?? keys[0]?.id
  return (
    <>
      <PageHead
        title="Playground"
        docs="playground"
        description="Calls models with one of your keys and is charged like any other call. Conversations are stored in this browser only."
        actions={
          keyId !== undefined && (
            <div className="toolbar">
              <SelectField
                label="API key"
                value={keyId}
                onChange={setChosenKey}
                options={keys.map(({ id, name, hint }) => ({ value: id, name: `${name} (${hint})` }))}
              />
            </div>
          )
        }
      />
      <QueryView query={query}>
        {() => (keyId === undefined ? <NoKey /> : <Playground keyId={keyId} />)}
      </QueryView>
    </>
  )
}

const NoKey = () => (
  <Panel title="No key yet">
    <EmptyState
      icon={KeyRound}
      action={
        <Link to="/keys" search={{ new: '1' }} className="button button-primary">
          Create a key
        </Link>
      }
    >
      The playground calls with one of your API keys, so that its limits apply. Create one first.
    </EmptyState>
  </Panel>
)

function Playground({ keyId }: { keyId: string }) {
  const { model = 'auto' } = useSearch({ from: '/account/playground' })
  const { data: session } = useQuery(sessionQuery)
  const { data: catalog, isPending } = useQuery(modelsQuery)
  const models = catalog?.models ?? []
  // A model of another kind is no model of the chat; which kind it is, the catalog knows.
  const isChat = findModel(models, model)?.kind === undefined
  if (!session || (model !== 'auto' && isPending)) return <SkeletonLines />
  return (
    <ChatTab
      accountId={session.account.id}
      keyId={keyId}
      initial={{ ...NO_SETTINGS, models: [isChat ? model : 'auto'] }}
      models={models.filter(({ kind }) => kind === undefined)}
    />
  )
}
