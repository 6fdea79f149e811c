import { useQuery } from '@tanstack/react-query'
import { Plus } from 'lucide-react'
import type { GuardrailTestBody, GuardrailTested, GuardrailView } from '../../../src/core/api/guardrails.ts'
import { guardrailsQuery, keysQuery, sessionQuery } from '../../api/queries.ts'
import { queryString, requestJson } from '../../api/request.ts'
import { ConfirmDialog, DialogBox, FormDialog } from '../../components/feedback/dialogs.tsx'
import { QueryView } from '../../components/feedback/messages.tsx'
import { Button } from '../../components/form/button.tsx'
import { RowMenu } from '../../components/form/row-menu.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { DataTable, TwoLines } from '../../components/table/data-table.tsx'
import { Code } from '../../components/text/code.tsx'
import { Facts, StateBadge } from '../../components/text/values.tsx'
import { formatDuration } from '../../lib/format.ts'
import { FAILURES, GUARDRAILS, GuardrailDialog, KINDS, optionsOf, POINTS } from './guardrail-dialog.tsx'

/** The services that judge the prompts and answers of all keys, or of one. */
export function GuardrailsPanel() {
  const query = useQuery(guardrailsQuery)
  const mayChange = (useQuery(sessionQuery).data?.permissions ?? []).includes('integrations')
  const keys = useQuery(keysQuery).data?.data ?? []
  const nameOf = ({ key_id: id }: GuardrailView) =>
    id === null ? 'all keys' : (keys.find((key) => key.id === id)?.name ?? id)
  const free = [{ id: null, name: 'all keys' }, ...keys.filter(({ state }) => state !== 'revoked')]
    .filter(({ id }) => query.data?.data.every(({ key_id: taken }) => taken !== id))
    .map(({ id, name }) => ({ value: id ?? '', name }))
  const add = mayChange && (
    <Button
      icon={Plus}
      disabled={free.length === 0}
      dialog={(close) => <GuardrailDialog keys={free} onClose={close} />}
    >
      Add guardrail
    </Button>
  )
  return (
    <Panel title="Guardrails" actions={add}>
      <QueryView query={query}>
        {({ data }) => (
          <DataTable
            caption="Guardrails"
            rows={data}
            empty="No guardrails yet. A guardrail is a service that allows, denies or replaces prompts before they become calls, and answers before they end."
            columns={{
              Service: ({ url, kind }) => (
                <TwoLines second={KINDS[kind]}>
                  <Code>{url}</Code>
                </TwoLines>
              ),
              'Calls of': nameOf,
              Judges: ({ points, may_replace: mayReplace }) => (
                <TwoLines second={mayReplace && 'and may replace them'}>
                  {points.map((point) => POINTS[point]).join(', ')}
                </TwoLines>
              ),
              'When it fails': ({ on_failure: onFailure, timeout_ms: timeoutMs }) => (
                <TwoLines second={`after ${formatDuration(timeoutMs)}`}>{FAILURES[onFailure]}</TwoLines>
              ),
              Actions: mayChange && ((row) => <GuardrailMenu guardrail={row} name={nameOf(row)} />),
            }}
          />
        )}
      </QueryView>
    </Panel>
  )
}

const GuardrailMenu = ({ guardrail, name }: { guardrail: GuardrailView; name: string }) => (
  <RowMenu
    about={`the guardrail of ${name}`}
    actions={[
      { name: 'Test', dialog: (close) => <TestDialog guardrail={guardrail} onClose={close} /> },
      {
        name: 'Edit',
        dialog: (close) => (
          <GuardrailDialog
            guardrail={guardrail}
            keys={[{ value: guardrail.key_id ?? '', name }]}
            onClose={close}
          />
        ),
      },
      {
        name: 'Delete',
        dialog: (close) => (
          <ConfirmDialog
            title="Delete this guardrail?"
            confirm="Delete guardrail"
            send={() => requestJson('DELETE', GUARDRAILS + queryString({ key_id: guardrail.key_id }))}
            stale={[GUARDRAILS]}
            onClose={close}
          >
            <p>
              <code>{guardrail.url}</code> no longer judges the calls of {name}.
            </p>
          </ConfirmDialog>
        ),
      },
    ]}
  />
)

/** Asks a guardrail about a text, and shows what it answers. */
const TestDialog = ({ guardrail, onClose }: { guardrail: GuardrailView; onClose: () => void }) => (
  <FormDialog
    title="Test the guardrail"
    submit="Send"
    pending="Asking …"
    fields={{
      text: { label: 'Text', rows: 4, required: 'Enter a text to judge.' },
      point: { label: 'As', initial: guardrail.points[0] ?? '', options: optionsOf(POINTS) },
    }}
    send={({ text, point }) =>
      requestJson<GuardrailTested>('POST', `${GUARDRAILS}/test`, {
        ...{ key_id: guardrail.key_id, text, point: point as keyof typeof POINTS },
      } satisfies GuardrailTestBody)
    }
    then={({ action, code, message, text, duration_ms: durationMs }, close) => (
      <DialogBox title="Its answer" onClose={close}>
        <Facts
          rows={{
            ...{ Action: <StateBadge state={action} />, Code: code, Message: message },
            ...{ 'New text': text, Time: formatDuration(durationMs) },
          }}
        />
        <div className="row justify-end">
          <Button kind="primary" onClick={close}>
            Done
          </Button>
        </div>
      </DialogBox>
    )}
    onClose={onClose}
  />
)
