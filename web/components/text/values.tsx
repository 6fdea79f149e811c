import { type CSSProperties, Fragment, type ReactNode } from 'react'
import { formatAgo, formatMoment, formatShortMoment } from '../../lib/format.ts'
import { Sparkline } from '../chart/sparkline.tsx'
import { MoneyPlace } from './money.tsx'

/** A text of large type that shrinks until it fits into its cell, and never breaks. */
const Figure = ({ text, children }: { text: string; children?: ReactNode }) => (
  <span className="figure" style={{ '--characters': text.length } as CSSProperties}>
    {children ?? text}
  </span>
)

/** A state in a word; its colour only repeats the word. What is well in a table is a dot and the word in plain ink. */
export const Badge = (props: {
  tone?: 'plain' | 'good' | 'warn' | 'bad' | 'accent'
  children: ReactNode
}) => (
  <span className="badge" data-tone={props.tone}>
    {props.children}
  </span>
)

/** The states that have a colour, whatever they are of. */
const STATES: Record<'good' | 'warn' | 'bad', readonly string[]> = {
  good: ['active', 'closed', 'completed', 'delivered', 'ready', 'resolved', 'settled'],
  warn: ['exhausted', 'half-open', 'interrupted', 'pending', 'probe', 'rate-limited', 'warning'],
  bad: ['critical', 'disputed', 'down', 'failed', 'failing', 'open', 'refused', 'suspended', 'unreachable'],
}

/** A state as the API names it, in its colour. `name`: another word for it. */
export function StateBadge({ state, name = state }: { state: string; name?: string }) {
  const tone = (['good', 'warn', 'bad'] as const).find((colour) => STATES[colour].includes(state))
  return <Badge tone={tone ?? 'plain'}>{name}</Badge>
}

/**
 * A moment in a column, in short on a phone and where `isShort`: the pointer then shows it whole. `zone`: its time zone;
 * absent: the one chosen in this browser.
 */
export const Moment = (props: { at: string; zone?: string | undefined; isShort?: boolean }) => {
  const { at, zone, isShort } = props
  const whole = formatMoment(at, zone)
  const short = formatShortMoment(at, zone)
  return (
    <time dateTime={at} className="whitespace-nowrap" title={isShort ? whole : undefined}>
      {isShort ? (
        short
      ) : (
        <>
          <span className="in-table">{whole}</span>
          <span className="in-card">{short}</span>
        </>
      )}
    </time>
  )
}

/** How long ago, with the moment for the pointer. */
export const Ago = ({ at }: { at: string }) => (
  <time dateTime={at} title={formatMoment(at)} className="whitespace-nowrap">
    {formatAgo(at, new Date())}
  </time>
)

/** Values by name, in order; those that are false, null or undefined are left out. */
type Rows = Readonly<Record<string, ReactNode>>

const shown = (rows: Rows) => Object.entries(rows).filter(([, value]) => value !== false && value != null)

/** The main values of a page, in large type. A note, and how it went, stand below the value of the same name. */
export function Stats(props: {
  rows: Rows
  notes?: Rows
  trends?: Readonly<Record<string, ReadonlyArray<number | null>>>
  className?: string
  stale?: boolean
}) {
  const { rows, notes = {}, trends = {}, className = '', stale } = props
  return (
    <dl className={`stats ${className}`} data-stale={stale}>
      {shown(rows).map(([name, value]) => (
        <div key={name} className="stat">
          <dt className="text-sm text-muted">{name}</dt>
          <dd>
            <MoneyPlace value="figure">
              {typeof value === 'string' ? <Figure text={value} /> : value}
            </MoneyPlace>
          </dd>
          {notes[name] && (
            <dd className="stat-note">
              <MoneyPlace value="figure">{notes[name]}</MoneyPlace>
            </dd>
          )}
          {trends[name] && (
            <dd className="stat-note">
              <Sparkline values={trends[name]} />
            </dd>
          )}
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
