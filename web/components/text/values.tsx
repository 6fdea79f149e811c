import { Fragment, type ReactNode } from 'react'
import { amountParts, formatAmount, formatChange } from '../../lib/format.ts'

/**
 * An exact amount. The digits after the cents are set back, not cut off: the amount on screen is the one in the
 * ledger. `signed` shows a change of a balance, with its plus. A dash stands for an amount that is not known.
 */
export function Money({ usd, signed = false }: { usd: string | null | undefined; signed?: boolean }) {
  if (usd == null) return '–'
  const { rest } = amountParts(usd)
  const text = signed ? formatChange(usd) : formatAmount(usd)
  return (
    <span className="money">
      {rest === '' ? text : text.slice(0, -rest.length)}
      {rest !== '' && <span className="money-rest">{rest}</span>}
    </span>
  )
}

export type Tone = 'plain' | 'good' | 'warn' | 'bad' | 'accent'

/** A state in a word; its colour only repeats the word. */
export function Badge({ tone = 'plain', children }: { tone?: Tone; children: ReactNode }) {
  return <span className={tone === 'plain' ? 'badge' : `badge tone-${tone}`}>{children}</span>
}

/** The states that have a colour, whatever they are of. */
const STATES: Record<'good' | 'warn' | 'bad', readonly string[]> = {
  good: ['active', 'closed', 'completed', 'delivered', 'ready', 'settled'],
  warn: ['exhausted', 'half-open', 'interrupted', 'pending', 'probe', 'rate-limited'],
  bad: ['disputed', 'down', 'failed', 'failing', 'open', 'refused', 'suspended'],
}

/** A state as the API names it, in its colour. `name`: another word for it. */
export function StateBadge({ state, name = state }: { state: string; name?: string }) {
  const tone = (['good', 'warn', 'bad'] as const).find((colour) => STATES[colour].includes(state))
  return <Badge tone={tone ?? 'plain'}>{name}</Badge>
}

/** Values by name, in order; those that are false, null or undefined are left out. */
type Rows = Readonly<Record<string, ReactNode>>

const shown = (rows: Rows) => Object.entries(rows).filter(([, value]) => value !== false && value != null)

/** The main values of a page, in large type. A note stands below the value of the same name. */
export function Stats(props: { rows: Rows; notes?: Rows; className?: string; stale?: boolean }) {
  const { rows, notes = {}, className = '', stale } = props
  return (
    <dl className={`stats ${className}`} data-stale={stale}>
      {shown(rows).map(([name, value]) => (
        <div key={name} className="stat">
          <dt className="small muted">{name}</dt>
          <dd>{value}</dd>
          {notes[name] && <dd className="stat-note">{notes[name]}</dd>}
        </div>
      ))}
    </dl>
  )
}

/** Names and values in two columns. `wide`: with room for long names. `isCode`: the names are code. */
export function Facts(props: { rows: Rows; wide?: boolean; isCode?: boolean }) {
  const { rows, wide = false, isCode = false } = props
  return (
    <dl className={wide ? 'facts facts-wide' : 'facts'}>
      {shown(rows).map(([name, value]) => (
        <Fragment key={name}>
          <dt className="muted">{isCode ? <code>{name}</code> : name}</dt>
          <dd>{value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}
