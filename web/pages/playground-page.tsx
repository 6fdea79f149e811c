import { useQuery } from '@tanstack/react-query'
import { Link, useSearch } from '@tanstack/react-router'
import { KeyRound } from 'lucide-react'
import { useState } from 'react'
import type { KeyView } from '../../src/core/api/keys.ts'
import { keysQuery, pricingQuery } from '../api/queries.ts'
import { EmptyState } from '../components/empty-state.tsx'
import { Form } from '../components/form.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Panel } from '../components/panel.tsx'
import { QueryView } from '../components/query-view.tsx'
import { SelectField } from '../components/select-field.tsx'
import { TextField } from '../components/text-field.tsx'
import { wholeNumberProblem } from '../lib/key-form.ts'
import '../styles/playground.css'
import { Answer } from './playground/answer.tsx'
import { ModelField } from './playground/model-field.tsx'
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
        The playground calls with one of your API keys, so that its limits hold. Create one first.
      </EmptyState>
    </Panel>
  )
}

function Playground({ keys }: { keys: KeyView[] }) {
  const { model: initialModel } = useSearch({ from: '/account/playground' })
  const { data: feed } = useQuery(pricingQuery)
  const [keyId, setKeyId] = useState(keys[0]?.id ?? '')
  const [model, setModel] = useState(initialModel ?? 'auto')
  const [system, setSystem] = useState('')
  const [prompt, setPrompt] = useState('')
  const [maxTokens, setMaxTokens] = useState('')
  const [isChecked, setIsChecked] = useState(false)
  const call = usePlaygroundCall()
  const isRunning = call.state.phase === 'waiting' || call.state.phase === 'streaming'
  const problems = {
    model: model.trim() === '' ? 'Name a model, or auto.' : null,
    prompt: prompt.trim() === '' ? 'Write something to send.' : null,
    maxTokens: wholeNumberProblem(maxTokens),
  }
  const submit = () => {
    setIsChecked(true)
    if (problems.model || problems.prompt || problems.maxTokens || isRunning) return
    call.start({
      key_id: keyId,
      model: model.trim(),
      messages: [
        ...(system.trim() === '' ? [] : [{ role: 'system' as const, content: system }]),
        { role: 'user', content: prompt },
      ],
      stream: true,
      ...(maxTokens !== '' && { max_tokens: Number(maxTokens) }),
    })
  }
  return (
    <div className="playground">
      <section className="panel" aria-label="Request">
        <div className="panel-body">
          <Form error={null} onSubmit={submit}>
            <SelectField
              label="Key"
              value={keyId}
              onChange={setKeyId}
              options={keys.map(({ id, name, hint }) => ({ value: id, name: `${name} (${hint})` }))}
            />
            <ModelField
              value={model}
              onChange={setModel}
              models={feed?.data ?? []}
              error={isChecked ? problems.model : null}
            />
            <TextField
              label="System message"
              value={system}
              onChange={setSystem}
              rows={2}
              placeholder="none"
            />
            <TextField
              label="Message"
              value={prompt}
              onChange={setPrompt}
              rows={6}
              placeholder="Why do trains need switchyards?"
              error={isChecked ? problems.prompt : null}
              required
            />
            <TextField
              label="Longest answer, tokens"
              value={maxTokens}
              onChange={setMaxTokens}
              inputMode="numeric"
              placeholder="the model's own limit"
              error={isChecked ? problems.maxTokens : null}
            />
            <div className="button-row">
              <button type="submit" className="button button-primary button-large" disabled={isRunning}>
                {isRunning ? 'Answering …' : 'Send'}
              </button>
              {isRunning && (
                <button type="button" className="button button-large" onClick={call.stop}>
                  Stop
                </button>
              )}
            </div>
          </Form>
        </div>
      </section>
      <Answer state={call.state} />
    </div>
  )
}
