import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { Code, Play } from 'lucide-react'
import { useState } from 'react'
import type { ByokFailureView, CallDetail } from '../../src/core/api/calls.ts'
import { callQuery, keysQuery, pricingQuery, promptLogQuery, sessionQuery } from '../api/queries.ts'
import { TimelineChart } from '../components/chart/call-timeline.tsx'
import { CallProblemNote } from '../components/feedback/call-problem-note.tsx'
import { QueryView } from '../components/feedback/messages.tsx'
import { ActionButton } from '../components/form/action-button.tsx'
import { Button } from '../components/form/button.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { CallStatus } from '../components/table/call-table.tsx'
import { CodeBlock, copyText, Identifier } from '../components/text/copy.tsx'
import { Money } from '../components/text/money.tsx'
import { Facts, Stats } from '../components/text/values.tsx'
import { curlOf, replayOf } from '../lib/calls/call-replay.ts'
import { timedCall } from '../lib/calls/call-timeline.ts'
import { leaveDraft } from '../lib/form-drafts.ts'
import { formatDuration, formatMoment } from '../lib/format.ts'
import { gatewayAddress } from '../lib/gateway-address.ts'
import { findModel } from '../lib/models/model-catalog.ts'
import { MESSAGE_DRAFT } from '../lib/playground/chat-settings.ts'
import { CallCostPanel } from './calls/call-cost-panel.tsx'

/** One call: why it ended as it did, where its time went, what it cost and how to send it again. */
export function CallPage() {
  const { id } = useParams({ from: '/account/calls/$id' })
  return (
    <>
      <PageHead
        back={<Link to="/usage">← Usage</Link>}
        title="Call"
        description={<Identifier id={id} of="the call ID" />}
      />
      <QueryView query={useQuery(callQuery(id))}>{(call) => <CallView call={call} />}</QueryView>
    </>
  )
}

function CallView({ call }: { call: CallDetail }) {
  const { data: session } = useQuery(sessionQuery)
  const mayList = session?.permissions.includes('keys') ?? false
  const { data: keys } = useQuery({ ...keysQuery, enabled: mayList })
  const key = keys?.data.find(({ id }) => id === call.key_id)
  const { timings, provider_key_failures: failures } = call
  return (
    <>
      <div className="row">
        <CallActions call={call} mayPlay={mayList} />
      </div>
      <CallProblemNote call={call} status={call.error_status} />
      <Stats
        rows={{
          [call.byok ? 'Routing fee' : 'Cost']: <Money usd={call.cost_usd} />,
          'Time to first token': formatDuration(timings.first_token_ms),
          Duration: formatDuration(timings.duration_ms),
        }}
      />
      <Panel title="Timeline" padded>
        <TimelineChart call={timedCall(call)} />
      </Panel>
      <div className="columns">
        <CallCostPanel call={call} />
        <Panel title="Call details" padded>
          <Facts
            wide
            rows={{
              Model: call.model === 'auto' ? <AutoModel /> : call.model,
              Status: <CallStatus call={call} />,
              'Finish reason': call.finish_reason,
              Streamed: `${call.stream ? 'yes' : 'no'}${call.rescued ? '; interrupted, then completed by another provider' : ''}`,
              Key: key ? key.name : <code>{call.key_id}</code>,
              'Your own key': call.byok && 'used: the provider bills you, this is our fee',
              "Your key's errors": failures.length > 0 && <KeyFailures failures={failures} />,
              Received: formatMoment(timings.admitted_at),
              'Request ID': <code>{call.request_id}</code>,
              App: call.labels?.title,
              Referer: call.labels?.referer,
              Session: call.labels?.session && <SessionLink id={call.labels.session} />,
              'From the cache': call.labels?.cached && (
                <Link to="/calls/$id" params={{ id: call.labels.cached }}>
                  {call.labels.cached}
                </Link>
              ),
              Metadata: call.labels?.metadata && <Metadata pairs={call.labels.metadata} />,
            }}
          />
        </Panel>
      </div>
      {call.prompt_log_until && <PromptLogPanel callId={call.id} until={call.prompt_log_until} />}
    </>
  )
}

/** Leads to all calls of the conversation. */
const SessionLink = ({ id }: { id: string }) => (
  <Link to="/session" search={{ id }} className="wrap-anywhere">
    {id}
  </Link>
)

/** Each pair links to the requests with the same pair. */
const Metadata = ({ pairs }: { pairs: Record<string, string> }) => (
  <span className="row gap-2">
    {Object.entries(pairs).map(([name, value]) => (
      <Link key={name} to="/usage" search={{ q: `${name}=${value}` }} hash="requests">
        <code>
          {name}={value}
        </code>
      </Link>
    ))}
  </span>
)

/** Explains that the model chosen by `auto` is not disclosed. */
const AutoModel = () => (
  <>
    auto <span className="text-muted">– the model that answered is not disclosed.</span>{' '}
    <Link to="/docs/$page" params={{ page: 'auto' }}>
      How auto chooses
    </Link>
  </>
)

const KeyFailures = ({ failures }: { failures: CallDetail['provider_key_failures'] }) => (
  <span className="stack gap-2">
    {failures.map((failure, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: attempts of a settled call never change.
      <span key={index}>
        {failure.provider_key_id && <code>{failure.provider_key_id} </code>}
        {BYOK_FAILURES[failure.reason]}
      </span>
    ))}
  </span>
)

const BYOK_FAILURES: Record<ByokFailureView['reason'], string> = {
  unauthorized: 'was rejected: the provider does not accept it',
  payment_required: 'was rejected: the provider requires payment',
  forbidden: 'was rejected: it lacks permission at the provider',
  model_not_found: 'was rejected: it has no access to this model',
  not_in_use: 'was deleted or switched off',
  rate_limited: 'is rate limited',
  unavailable: 'was temporarily unavailable',
  unreachable: 'was not used: the provider could not be reached',
  provider_failed: 'was used, but the provider failed',
}

/** Sends a call again by other means. A logged request is read when one of them is chosen, not before. */
function CallActions({ call, mayPlay }: { call: CallDetail; mayPlay: boolean }) {
  const client = useQueryClient()
  const navigate = useNavigate()
  const readLog = async () =>
    call.prompt_log_until ? client.fetchQuery({ ...promptLogQuery(call.id), gcTime: 0 }) : null
  const readKind = async () => findModel((await client.ensureQueryData(pricingQuery)).data, call.model)?.kind
  return (
    <>
      {mayPlay && (
        <ActionButton
          icon={Play}
          size="small"
          action={{
            send: async () => {
              const { settings, text } = replayOf(call.model, await readLog())
              leaveDraft(MESSAGE_DRAFT, { text, settings: JSON.stringify(settings) })
              await navigate({ to: '/playground' })
            },
          }}
        >
          Replay in playground
        </ActionButton>
      )}
      <ActionButton
        icon={Code}
        size="small"
        action={{
          send: async () => {
            const [kind, log] = await Promise.all([readKind(), readLog()])
            return copyText(curlOf(call.model, kind, log, gatewayAddress()))
          },
          done: (isCopied) =>
            isCopied
              ? `Copied${call.prompt_log_until ? '' : ', with an example in place of the messages'}.`
              : 'The browser refused to copy.',
        }}
      >
        Copy as curl
      </ActionButton>
    </>
  )
}

/** The logged prompt and completion of a call. They are read only when the reader asks to see them. */
function PromptLogPanel({ callId, until }: { callId: string; until: string }) {
  const [isShown, setIsShown] = useState(false)
  const query = useQuery({ ...promptLogQuery(callId), gcTime: 0, enabled: isShown })
  return (
    <Panel title="Prompt and answer" padded>
      <p className="text-sm text-muted">
        Stored because prompt logging was on for the key. Deleted on {formatMoment(until)}.
      </p>
      {isShown ? (
        <QueryView query={query}>
          {(log) => (
            <div className="stack">
              <h3>Request</h3>
              <CodeBlock code={indented(log.request)} of="the request" />
              {log.request_truncated && <p className="text-sm text-muted">The request was shortened.</p>}
              <h3>Answer</h3>
              <CodeBlock code={indented(log.answer)} of="the answer" />
              {log.answer_truncated && <p className="text-sm text-muted">The answer was shortened.</p>}
            </div>
          )}
        </QueryView>
      ) : (
        <Button onClick={() => setIsShown(true)}>Show</Button>
      )}
    </Panel>
  )
}

/** Indents JSON; a truncated text is shown unchanged. */
function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2)
  } catch {
    return json
  }
}
