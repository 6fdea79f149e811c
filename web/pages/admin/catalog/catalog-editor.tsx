import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import type { CatalogCheckView, CatalogEditsView } from '../../../../src/core/api/catalog.ts'
import { requestJson } from '../../../api/request.ts'
import { ErrorNote, Note } from '../../../components/feedback/messages.tsx'
import { Button } from '../../../components/form/button.tsx'
import { TextField } from '../../../components/form/fields.tsx'
import { DiffView } from '../../../components/text/diff-view.tsx'
import { formatCount } from '../../../lib/format.ts'
import { type CatalogContent, readDocument, writeDocument } from '../../../lib/operators/catalog-edits.ts'
import { OperatorButton } from '../operator-button.tsx'
import { ApplyEditsDialog, type ProposedEdits } from './apply-edits-dialog.tsx'

/** The document of edits as JSON: checked by the gateway against the whole catalog before it can be applied. */
export function EditsEditor({ current }: { current: CatalogEditsView | null }) {
  // The version that the text was made from. When another version is applied, what was typed here is kept.
  const [base, setBase] = useState(current)
  const before = writeDocument(base?.content ?? {})
  const [text, setText] = useState(before)
  const [problem, setProblem] = useState<string | null>(null)
  const [proposed, setProposed] = useState<ProposedEdits | null>(null)
  const check = useMutation({
    mutationFn: (content: CatalogContent) =>
      requestJson<CatalogCheckView>('POST', '/admin/api/catalog/check', { content }),
  })
  const isBehind = Number(current?.version ?? 0) > Number(base?.version ?? 0)
  const startFrom = (edits: CatalogEditsView | null) => {
    setBase(edits)
    setText(writeDocument(edits?.content ?? {}))
    setProblem(null)
    check.reset()
  }
  if (isBehind && text === before) startFrom(current)
  const edit = (changed: string) => {
    setText(changed)
    setProblem(null)
    check.reset()
  }
  const checkThen = (then?: (content: CatalogContent) => void) => {
    const document = readDocument(text)
    setProblem(document.kind === 'problem' ? document.message : null)
    if (document.kind === 'problem') return
    check.mutate(document.content, { onSuccess: ({ valid }) => valid && then?.(document.content) })
  }
  const propose = (content: CatalogContent) =>
    setProposed({
      content,
      title: 'Apply these overrides?',
      confirm: 'Apply overrides',
      what: (
        <p>
          They apply to new calls within a second, in every process. Calls received before keep their prices.
          Every revision is kept and can be restored.
        </p>
      ),
    })
  return (
    <>
      <TextField
        className="[&_textarea]:font-mono [&_textarea]:text-sm"
        label="Overrides (JSON)"
        rows={18}
        value={text}
        onChange={edit}
        error={problem}
        hint={
          <>
            Example:{' '}
            <code>
              {'{"changes":{"models":[{"id":"vendor/model","rate":{"prompt":"1.00","completion":"4.00"}}]}}'}
            </code>
          </>
        }
      />
      {isBehind && (
        <Note tone="warn" announce>
          <p>
            Revision {current?.version ?? 'none'} is live now, but this text is based on{' '}
            {base ? `revision ${base.version}` : 'an empty document'}, so it cannot be applied. Copy your
            changes and start again from the live revision.
          </p>
          <p>
            <Button size="small" onClick={() => startFrom(current)}>
              Start from revision {current?.version ?? 'none'}
            </Button>
          </p>
        </Note>
      )}
      <CheckResult view={check.data} error={check.error} />
      {text !== before && (
        <details className="disclosure">
          <summary>Changes to the current overrides</summary>
          <DiffView before={before} after={text} of="Changes to the current overrides" />
        </details>
      )}
      <div className="row">
        <OperatorButton needs="catalog.write" disabled={check.isPending} onClick={() => checkThen()}>
          Check
        </OperatorButton>
        <OperatorButton
          needs="catalog.write"
          kind="primary"
          disabled={check.isPending || text === before}
          onClick={() => checkThen(propose)}
        >
          Review changes …
        </OperatorButton>
        <Button disabled={text === before} onClick={() => edit(before)}>
          Discard changes
        </Button>
      </div>
      {proposed && (
        <ApplyEditsDialog
          proposed={proposed}
          from={base}
          onClose={() => setProposed(null)}
          onApplied={({ edits }) => startFrom(edits)}
        />
      )}
    </>
  )
}

function CheckResult({ view, error }: { view: CatalogCheckView | undefined; error: Error | null }) {
  if (!view) return <ErrorNote error={error} />
  if (view.valid)
    return (
      <Note tone="good" announce>
        Valid. The catalog will have {formatCount(view.models ?? 0)} models.
      </Note>
    )
  return (
    <Note tone="bad" announce>
      <p>The catalog is not valid with these overrides:</p>
      <ul className="pl-[1.2em]">
        {view.problems.map((problem) => (
          <li key={problem}>{problem}</li>
        ))}
      </ul>
    </Note>
  )
}
