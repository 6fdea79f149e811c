import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import type { KeyView } from '../../src/core/api/keys.ts'
import { keysQuery, pricingQuery } from '../api/queries.ts'
import { EmptyState, QueryView } from '../components/feedback/messages.tsx'
import { Button } from '../components/form/button.tsx'
import { SelectField } from '../components/form/choice-fields.tsx'
import { Form, useForm } from '../components/form/form.tsx'
import { TextField } from '../components/form/text-field.tsx'
import { PageHead, Panel } from '../components/layout/page.tsx'
import { wholeNumberProblem } from '../lib/checks.ts'
import '../styles/playground.css'
import { Completion } from './playground/completion.tsx'
import { usePlaygroundCall } from './playground/use-playground-call.ts'

/** Tries a model with a key of the account: a real call, streamed, charged like any other. */
export function PlaygroundPage() {
  const query = useQuery(keysQuery)
  return (
    <>
      <PageHead
        title="Playground"
        description="A real call with one of your keys, charged like any other. Nothing you write here is stored."
      />
      <QueryView query={query}>
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
  const models = feed?.data ?? []
  const known = models.find(({ id }) => id === form.values.model.trim())
  return (
    <div className="playground">
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
                { value: 'auto', name: 'picks a model by the difficulty of the prompt' },
                ...models
                  .filter(({ status }) => status === 'available')
                  .map(({ id, name }) => ({ value: id, name })),
              ]}
              hint={
                known
                  ? `$${known.prompt} in, $${known.completion} out, per million tokens`
                  : 'An id of the catalog, or auto to choose by the difficulty of the prompt.'
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
              label="Longest completion, tokens"
              {...form.field('max_tokens')}
              inputMode="numeric"
              placeholder="the model's own limit"
            />
            <div className="button-row">
              <button type="submit" className="button button-primary button-large" disabled={isRunning}>
                {isRunning ? 'Running …' : 'Send'}
              </button>
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
