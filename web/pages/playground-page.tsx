import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import type { KeyView } from '../../src/core/api/keys.ts'
import { callQuery, keysQuery, pricingQuery } from '../api/queries.ts'
import { EmptyState, Note, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { SelectField, TextField } from '../components/form/fields.tsx'
import { Form, useForm } from '../components/form/form.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { CopyButton } from '../components/text/copy.tsx'
import { Money, Stats } from '../components/text/values.tsx'
import { wholeNumberProblem } from '../lib/checks.ts'
import { formatCount, formatDuration } from '../lib/format.ts'
import { type PlaygroundState, usePlaygroundCall } from './playground/use-playground-call.ts'

/** Tries a model with a key of the account: a call that is streamed and charged like any other. */
export function PlaygroundPage() {
  return (
    <>
      <PageHead
        title="Playground"
        description="Calls a model with one of your keys and is charged like any other call. Nothing you write here is stored."
      />
      <QueryView query={useQuery(keysQuery)}>
        {({ data }) => {
          const active = data.filter(({ state }) => state === 'active')
          return active.length > 0 ? <Playground keys={active} /> : <NoKey />
        }}
      </QueryView>
    </>
  )
}

function NoKey() {
  return (
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
  )
}

function Playground({ keys }: { keys: KeyView[] }) {
  const { model: initialModel = 'auto' } = useSearch({ from: '/account/playground' })
  const { data: feed } = useQuery(pricingQuery)
  const call = usePlaygroundCall()
  const isRunning = call.state.phase === 'waiting' || call.state.phase === 'streaming'
  const form = useForm({
    initial: { key_id: keys[0]?.id ?? '', model: initialModel, system: '', prompt: '', max_tokens: '' },
    check: ({ model, prompt, max_tokens: maxTokens }) => ({
      model: model.trim() === '' ? 'Enter a model, or auto.' : null,
      prompt: prompt.trim() === '' ? 'Enter a message.' : null,
      max_tokens: wholeNumberProblem(maxTokens),
    }),
    send: async ({ key_id, model, system, prompt, max_tokens: maxTokens }) => {
      if (isRunning) return
      call.start({
        key_id,
        model: model.trim(),
        messages: [
          ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
          { role: 'user', content: prompt },
        ],
        stream: true,
        ...(maxTokens !== '' && { max_tokens: Number(maxTokens) }),
      })
    },
  })
  const models = (feed?.data ?? []).filter(({ kind }) => kind === undefined)
  const known = models.find(({ id }) => id === form.values.model.trim())
  return (
    <div className="grid grid-cols-1 items-start gap-6 xl:grid-cols-[1fr_1.3fr]">
      <section className="panel" aria-label="Request">
        <div className="panel-body">
          <Form form={form}>
            <SelectField
              label="Key"
              {...form.field('key_id')}
              options={keys.map(({ id, name, hint }) => ({ value: id, name: `${name} (${hint})` }))}
            />
            <TextField
              label="Model"
              {...form.field('model')}
              // Free text, since ids take suffixes such as `:floor`.
              suggestions={[
                { value: 'auto', name: 'let Switchyard choose' },
                ...models
                  .filter(({ status }) => status === 'available')
                  .map(({ id, name }) => ({ value: id, name })),
              ]}
              hint={
                known
                  ? `$${known.prompt} in, $${known.completion} out, per million tokens`
                  : 'Choose a model, or "auto" to let Switchyard choose.'
              }
            />
            <TextField label="System message" {...form.field('system')} rows={2} placeholder="none" />
            <TextField
              label="Message"
              {...form.field('prompt')}
              rows={6}
              placeholder="Why do trains need switchyards?"
              required
            />
            <TextField
              label="Max output tokens"
              {...form.field('max_tokens')}
              inputMode="numeric"
              placeholder="the model's own limit"
            />
            <div className="row">
              <Button kind="primary" size="large" disabled={isRunning}>
                {isRunning ? 'Running …' : 'Send'}
              </Button>
              {isRunning && (
                <Button size="large" onClick={call.stop}>
                  Stop
                </Button>
              )}
            </div>
          </Form>
        </div>
      </section>
      <Completion state={call.state} />
    </div>
  )
}

const ANNOUNCED: Record<PlaygroundState['phase'], string> = {
  idle: '',
  waiting: 'Waiting for the first token.',
  streaming: 'The completion is streaming.',
  done: 'The completion is complete.',
  failed: '',
  stopped: 'Stopped.',
}

/** The completion as it streams in, with times as measured in this browser, and tokens and cost as charged. */
function Completion({ state }: { state: PlaygroundState }) {
  return (
    <Panel
      title="Completion"
      padded
      actions={state.phase === 'done' && <CopyButton text={state.text} of="the completion" label="Copy" />}
    >
      <p className="sr-only" role="status">
        {ANNOUNCED[state.phase]}
      </p>
      {state.phase === 'idle' && <p className="text-muted">The completion appears here, token by token.</p>}
      {state.phase === 'waiting' && <span className="skeleton h-[1.1rem]" />}
      {state.text !== '' && (
        <div
          className="completion-text leading-[1.6] wrap-anywhere whitespace-pre-wrap"
          data-streaming={state.phase === 'streaming'}
        >
          {state.text}
        </div>
      )}
      {state.phase === 'stopped' && <Note>Stopped. The tokens received so far are charged.</Note>}
      {state.finishReason === 'length' && (
        <Note tone="warn">The completion was cut off at the token limit.</Note>
      )}
      {state.error && (
        <Note tone="bad" announce>
          {state.error}
        </Note>
      )}
      {state.phase !== 'idle' && state.phase !== 'waiting' && <CallStats state={state} />}
    </Panel>
  )
}

function CallStats({ state }: { state: PlaygroundState }) {
  const hasEnded = state.phase !== 'streaming'
  const { data: call, error } = useQuery({
    ...callQuery(state.callId ?? ''),
    enabled: hasEnded && state.callId !== null,
  })
  const tokens = (count: number | undefined) => (count === undefined ? '–' : formatCount(count))
  const isSettling = hasEnded && state.callId !== null && !error
  return (
    <>
      <Stats
        className="[&_.stat]:basis-30 [&_.stat]:px-4 [&_.stat]:py-3"
        rows={{
          'Time to first token': formatDuration(state.firstTokenMs),
          Duration: state.durationMs === null ? '…' : formatDuration(state.durationMs),
          'Input tokens': tokens(call?.prompt_tokens ?? state.usage?.promptTokens),
          'Output tokens': tokens(call?.completion_tokens ?? state.usage?.completionTokens),
          Cost: !call && isSettling ? 'settling …' : <Money usd={call?.cost_usd} />,
        }}
      />
      {call && (
        <p className="text-sm">
          <Link to="/calls/$id" params={{ id: call.id }}>
            Details of this call
          </Link>
        </p>
      )}
    </>
  )
}
