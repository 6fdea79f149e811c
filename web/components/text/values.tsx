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
    <span className="money whitespace-nowrap tabular-nums [.stat_&]:whitespace-normal">
      {rest === '' ? text : text.slice(0, -rest.length)}
      {rest !== '' && <span className="font-normal text-muted [.stat_&]:text-[0.75em]">{rest}</span>}
    </span>
  )
}

/** The colours of a state. */
export const TONES = {
  plain: 'bg-sunken text-soft',
  good: 'bg-good-soft text-good',
  warn: 'bg-warn-soft text-warn',
  bad: 'bg-bad-soft text-bad',
  accent: 'bg-accent-soft text-accent',
}

/** A state in a word; its colour only repeats the word. */
export function Badge({ tone = 'plain', children }: { tone?: keyof typeof TONES; children: ReactNode }) {
  return <span className={`badge ${TONES[tone]}`}>{children}</span>
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
          <dt className="text-sm text-muted">{name}</dt>
          <dd>{value}</dd>
          {notes[name] && <dd className="stat-note">{notes[name]}</dd>}
        </div>
      ))}
    </dl>
  )
}

/** On a phone the names stand above their values. */
const WIDE = 'max-sm:gap-y-1 max-sm:[&_dd]:mb-3 sm:grid-cols-[minmax(12rem,max-content)_minmax(0,1fr)]'

/** Names and values in two columns. `wide`: with room for long names. `isCode`: the names are code. */
export function Facts(props: { rows: Rows; wide?: boolean; isCode?: boolean }) {
  const { rows, wide = false, isCode = false } = props
  return (
    <dl
      className={`grid gap-x-6 gap-y-2 ${wide ? WIDE : 'grid-cols-[minmax(8rem,max-content)_minmax(0,1fr)]'}`}
    >
      {shown(rows).map(([name, value]) => (
        <Fragment key={name}>
          <dt className="text-muted">{isCode ? <code>{name}</code> : name}</dt>
          <dd className="wrap-anywhere tabular-nums">{value}</dd>
        </Fragment>
      ))}
    </dl>
  )
}
