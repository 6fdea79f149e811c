import { useQuery } from '@tanstack/react-query'
import type { RouterView } from '../../../src/core/api/router.ts'
import { routerQuery } from '../../api/operator-queries.ts'
import { QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { formatCount, formatShare } from '../../lib/format.ts'
import { ModelLink } from './links.tsx'

const KINDS: Record<string, string> = {
  code: 'Code',
  worded_options: 'Multiple choice',
  numeric_options: 'Multiple choice, numeric',
  formulas: 'Numbers and formulas',
  chat: 'Chat',
  agentic: 'Agentic',
  other: 'Other',
}
const kindName = (kind: string): string => KINDS[kind] ?? kind

/** What `auto` chooses by kind of task. */
export function RouterPage() {
  return (
    <>
      <PageHead
        title="Auto router"
        description="What auto chooses by kind of task, and how clients judge it."
      />
      <QueryView query={useQuery(routerQuery)}>{(router) => <Router router={router} />}</QueryView>
    </>
  )
}

function Router({ router }: { router: RouterView }) {
  const { latest_calls: latestCalls, choices } = router
  return (
    <Panel title={`Choices among the latest ${formatCount(latestCalls)} calls`}>
      <DataTable
        empty="No call of auto among them."
        caption="What auto chose by kind of task"
        rows={choices}
        rowKey={({ model, kind }) => `${model} ${kind}`}
        columns={{
          Model: ({ model }) => <ModelLink id={model} />,
          Task: ({ kind }) => kindName(kind),
          Calls: ({ calls }) => formatCount(calls),
          'Share of task': ({ share }) => formatShare(share),
          Spend: ({ spend_usd: usd }) => <Money usd={usd} />,
          Quality: ({ quality, standard_error: error }) => qualityText(quality, error),
          Basis: ({ basis }) => (basis === null ? '–' : basis === 'measured' ? 'Measured' : 'Estimated'),
          Feedback: ({ feedback, satisfaction }) =>
            satisfaction === null ? '–' : `${formatShare(satisfaction)} of ${formatCount(feedback)}`,
        }}
        numeric={['Calls', 'Share of task', 'Spend', 'Quality', 'Feedback']}
      />
    </Panel>
  )
}

const qualityText = (quality: number | null, error: number | null): string =>
  quality === null ? '–' : `${formatShare(quality)} ± ${formatShare(error ?? 0)}`
