import type { OperatorAccountDetail } from '../../../../src/core/api/accounts.ts'
import { Money } from '../../../components/money.tsx'
import { plural, rateLimitsText } from '../../../lib/figures.ts'
import { AccountState } from './account-state.tsx'

/** The balance as the ledger has it, beside what the gate in Redis lets it spend. */
export function AccountFigures({ account }: { account: OperatorAccountDetail }) {
  const { available_usd: available, held_usd: held, open_holds: holds } = account
  return (
    <dl className="figures">
      <div className="figure">
        <dt>State</dt>
        <dd>
          <AccountState state={account.state} />
        </dd>
      </div>
      <div className="figure">
        <dt>Balance (ledger)</dt>
        <dd>
          <Money usd={account.balance_usd} />
        </dd>
      </div>
      <div className="figure">
        <dt>Available now</dt>
        <dd>{available === null ? '–' : <Money usd={available} />}</dd>
        {available === null && <dd className="figure-note">Redis does not answer</dd>}
      </div>
      <div className="figure">
        <dt>Held by running calls</dt>
        <dd>{held === null ? '–' : <Money usd={held} />}</dd>
        {holds !== null && <dd className="figure-note">{plural(holds, 'hold')}</dd>}
      </div>
      {(account.requests_per_minute !== null || account.concurrent_calls !== null) && (
        <div className="figure">
          <dt>Limits over all keys</dt>
          <dd>{rateLimitsText(account.requests_per_minute, account.concurrent_calls)}</dd>
        </div>
      )}
      {account.owed_usd !== '0.00' && (
        <div className="figure">
          <dt>Owed to us</dt>
          <dd>
            <Money usd={account.owed_usd} />
          </dd>
        </div>
      )}
    </dl>
  )
}
