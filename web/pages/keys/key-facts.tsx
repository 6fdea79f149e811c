import type { KeyAuthority } from '../../../src/core/accounts/key-authority.ts'
import type { KeyView } from '../../../src/core/api/keys.ts'
import { Button } from '../../components/form/button.tsx'
import { Panel } from '../../components/layout/page.tsx'
import { Identifier } from '../../components/text/copy.tsx'
import { Money } from '../../components/text/money.tsx'
import { Ago, Facts, Stats } from '../../components/text/values.tsx'
import { formatMoment, plural } from '../../lib/format.ts'
import { ResponseCacheDialog } from './kept-texts-dialogs.tsx'
import { KeyState, SpendingLimit } from './key-table.tsx'

/** What a key spent, and what is left of its limit. */
export function KeyStats({ apiKey }: { apiKey: KeyView }) {
  const { remaining_usd: left, limit_reset: reset, resets_at: resetsAt } = apiKey
  return (
    <Stats
      rows={{
        Spent: <Money usd={apiKey.spent_usd} />,
        Remaining: left === null ? 'no limit' : <Money usd={left} />,
        'Last used': apiKey.last_used_at === null ? 'never' : <Ago at={apiKey.last_used_at} />,
      }}
      notes={{
        Spent: reset === 'none' ? 'in all' : 'in this period',
        Remaining: resetsAt !== null && `resets ${formatMoment(resetsAt)}`,
      }}
    />
  )
}

/** The settings of a key. */
export function KeyFacts({ apiKey }: { apiKey: KeyView }) {
  const state = <KeyState apiKey={apiKey} />
  return (
    <Panel
      title="Key details"
      padded
      actions={
        apiKey.state !== 'revoked' && (
          <Button size="small" dialog={(close) => <ResponseCacheDialog apiKey={apiKey} onClose={close} />}>
            Response cache
          </Button>
        )
      }
    >
      <Facts
        wide
        rows={{
          State: apiKey.state === 'active' ? 'active' : state,
          'Spending limit': <SpendingLimit apiKey={apiKey} />,
          'Requests per minute': limitText(
            apiKey.effective_requests_per_minute,
            apiKey.operator_requests_per_minute,
          ),
          'Concurrent requests': limitText(
            apiKey.effective_concurrent_calls,
            apiKey.operator_concurrent_calls,
          ),
          Models: <Names names={apiKey.allowed_models} />,
          Providers: <Names names={apiKey.allowed_providers} />,
          Permissions:
            apiKey.scopes.length === 0 ? 'calls only' : <Names names={['calls', ...apiKey.scopes]} />,
          'Prompt logging':
            apiKey.prompt_log_days === null ? 'off' : `on, kept for ${plural(apiKey.prompt_log_days, 'day')}`,
          'Response cache': apiKey.cache_seconds === null ? 'off' : plural(apiKey.cache_seconds, 'second'),
          Expires: apiKey.expires_at === null ? 'never' : formatMoment(apiKey.expires_at),
          Created: formatMoment(apiKey.created_at),
          Paused: apiKey.paused_at !== null && pausedText(apiKey.paused_at, apiKey.paused_by),
          'Set from above': boundsText(apiKey.bounded_by),
          Revoked: apiKey.revoked_at !== null && formatMoment(apiKey.revoked_at),
          'Key ID': <Identifier id={apiKey.id} of="the key ID" />,
        }}
      />
    </Panel>
  )
}

const AUTHORS: Record<KeyAuthority, string> = {
  creator: 'who made it',
  manager: 'an owner or admin',
  operator: 'the operator',
}

const pausedText = (at: string, by: KeyAuthority | null): string =>
  `since ${formatMoment(at)}${by === null ? '' : `, by ${AUTHORS[by]}`}`

const FIELDS: Record<string, string> = {
  limit_usd: 'spending limit',
  expires_at: 'expiry',
  customer_requests_per_minute: 'requests per minute',
  customer_concurrent_calls: 'concurrent requests',
  allowed_models: 'models',
  allowed_providers: 'providers',
}

/** Limits set by a manager or an operator. The creator of the key may lower them but not raise them. */
const boundsText = (bounds: KeyView['bounded_by']) =>
  Object.keys(bounds).length > 0 &&
  Object.entries(bounds)
    .map(([field, by]) => `${FIELDS[field] ?? field} by ${AUTHORS[by]}`)
    .join(', ')

const limitText = (limit: number, max: number): string =>
  limit === max ? String(limit) : `${limit}, lowered from ${max}`

/** What a key is limited to. */
const Names = ({ names }: { names: readonly string[] }) =>
  names.length === 0 ? (
    'all'
  ) : (
    <span className="row gap-1">
      {names.map((name) => (
        <code key={name} className="wrap-anywhere">
          {name}
        </code>
      ))}
    </span>
  )
