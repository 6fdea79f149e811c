import { useQuery } from '@tanstack/react-query'
import { Split } from 'lucide-react'
import type { RouterQualityView, RouterVersionView, RouterView } from '../../../src/core/api/router.ts'
import { routerQuery } from '../../api/operator-queries.ts'
import { requestJson } from '../../api/request.ts'
import { ConfirmDialog } from '../../components/feedback/dialogs.tsx'
import { EmptyState, QueryView } from '../../components/feedback/messages.tsx'
import { PageHead, Panel } from '../../components/layout/page.tsx'
import { DataTable } from '../../components/table/data-table.tsx'
import { Money } from '../../components/text/money.tsx'
import { Badge, Moment, Stats } from '../../components/text/values.tsx'
import { formatCount, formatShare } from '../../lib/format.ts'
import { ModelLink } from './links.tsx'
import { OperatorButton } from './operator-button.tsx'
import { ActorName } from './operators/audit-log.tsx'

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

/** What `auto` chooses, and the learned versions of its router: compared, installed and rolled back. */
export function RouterPage() {
  return (
    <>
      <PageHead
        title="Auto router"
        description="What auto chooses, and versions of its router learned from feedback and second answers."
      />
      <QueryView query={useQuery(routerQuery)}>{(router) => <Router router={router} />}</QueryView>
    </>
  )
}

function Router({ router }: { router: RouterView }) {
  const {
    installed,
    outcomes,
    least_pairs: leastPairs,
    latest_calls: latestCalls,
    choices,
    versions,
  } = router
  return (
    <>
      <Stats
        rows={{
          'Version in use': installed ?? 'shipped',
          Feedback: formatCount(outcomes.feedback),
          'Compared answers': formatCount(outcomes.pairs),
        }}
        notes={{ 'Compared answers': `${formatCount(leastPairs)} are needed to change the ranking` }}
      />
      <Panel title={`Choices among the latest ${formatCount(latestCalls)} calls`}>
        {choices.length === 0 ? (
          <EmptyState icon={Split}>No call of auto among them.</EmptyState>
        ) : (
          <DataTable
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
              'Known from': ({ basis }) => basis ?? '–',
            }}
            numeric={['Calls', 'Share of task', 'Spend', 'Quality']}
          />
        )}
      </Panel>
      <Panel
        title="Versions"
        actions={
          installed !== null && (
            <OperatorButton
              needs="catalog.write"
              dialog={(close) => <RollbackDialog installed={installed} onClose={close} />}
            >
              Roll back
            </OperatorButton>
          )
        }
      >
        <DataTable
          caption="Learned versions, newest first"
          rows={versions}
          rowKey={({ version }) => version}
          empty={
            <>
              No version yet. <code>npm run router -- learn</code> makes one of the outcomes so far.
            </>
          }
          columns={{
            Version: ({ version, is_installed: isInstalled }) => (
              <>
                {version} {isInstalled && <Badge tone="good">In use</Badge>}
              </>
            ),
            When: ({ created_at: at }) => <Moment at={at} />,
            By: ({ author }) => <ActorName actor={author} />,
            Feedback: ({ feedback }) => formatCount(feedback),
            'Compared answers': ({ pairs }) => formatCount(pairs),
            Ranking: rankingText,
            Actions: (version) =>
              !version.is_installed && (
                <OperatorButton
                  needs="catalog.write"
                  size="small"
                  about={`version ${version.version}`}
                  dialog={(close) => <InstallDialog version={version} onClose={close} />}
                >
                  Compare or install
                </OperatorButton>
              ),
          }}
          numeric={['Feedback', 'Compared answers']}
        />
      </Panel>
    </>
  )
}

const qualityText = (quality: number | null, error: number | null): string =>
  quality === null ? '–' : `${formatShare(quality)} ± ${formatShare(error ?? 0)}`

const rankingText = ({ ranking }: RouterVersionView): string => {
  if (ranking === null) return 'too few answers'
  return ranking ? 'learned' : 'unchanged: not proven'
}

const InstallDialog = ({ version, onClose }: { version: RouterVersionView; onClose: () => void }) => (
  <ConfirmDialog
    title={`Install version ${version.version}?`}
    wide
    confirm="Install"
    send={() => requestJson<RouterView>('POST', '/admin/api/router/install', { version: version.version })}
    stale={['/admin/api']}
    done={`Version ${version.version} is in use.`}
    onClose={onClose}
  >
    <p>
      It applies to new calls within seconds. Learned from {formatCount(version.accounts)} accounts; ranking
      by difficulty: {rankingText(version)}. The largest changes of quality at tasks of medium difficulty:
    </p>
    <DataTable
      caption="Changes of quality"
      rows={version.changes}
      rowKey={({ model, kind }: RouterQualityView) => `${model} ${kind}`}
      empty="It changes no model's quality."
      columns={{
        Model: ({ model }) => model,
        Task: ({ kind }) => kindName(kind),
        Outcomes: ({ outcomes }) => formatCount(outcomes),
        Before: ({ before }) => formatShare(before),
        After: ({ after }) => formatShare(after),
      }}
      numeric={['Outcomes', 'Before', 'After']}
    />
  </ConfirmDialog>
)

const RollbackDialog = ({ installed, onClose }: { installed: string; onClose: () => void }) => (
  <ConfirmDialog
    title={`Roll back version ${installed}?`}
    confirm="Roll back"
    send={() => requestJson<RouterView>('POST', '/admin/api/router/rollback')}
    stale={['/admin/api']}
    done={({ installed: now }) =>
      now === null ? 'The shipped router is in use.' : `Version ${now} is in use again.`
    }
    onClose={onClose}
  >
    <p>The version that was installed before it applies again; without one, the shipped router.</p>
  </ConfirmDialog>
)
