import { type CSSProperties, createContext, useContext } from 'react'
import { columnAmount, formatAmount, formatChange, shortAmount } from '../../lib/format.ts'

/**
 * Where amounts stand. In running text and lists of facts they are exact. In a `column`, or one of `cents`, they are
 * rounded to the same number of decimals, and in a `figure` in large type to four significant digits.
 */
const Place = createContext<'text' | 'column' | 'cents' | 'figure'>('text')
export const MoneyPlace = Place.Provider

/**
 * An amount. Where it is rounded, the pointer shows the exact amount, a copy has it, and screen readers read it.
 * `signed` shows a change of a balance, with its plus. A dash means an unknown amount.
 */
export function Money({ usd, signed = false }: { usd: string | null | undefined; signed?: boolean }) {
  const place = useContext(Place)
  if (usd == null) return '–'
  const exact = signed ? formatChange(usd) : formatAmount(usd)
  const { text, filler } =
    place === 'column' || place === 'cents'
      ? columnAmount(usd, place)
      : { text: place === 'figure' ? shortAmount(usd) : exact, filler: '' }
  const shown = signed && !/^[+−]/.test(text) ? `+${text}` : text
  const style = { '--characters': shown.length } as CSSProperties
  const className = `money ${place === 'figure' ? 'figure' : ''}`
  const digits = <Digits of={shown} filler={filler} />
  if (shown === exact)
    return (
      <data className={className} style={style} value={usd}>
        {digits}
      </data>
    )
  return (
    <data className={className} style={style} value={usd} title={exact}>
      <span aria-hidden="true" className="select-none">
        {digits}
      </span>
      <span className="money-exact">{exact}</span>
    </data>
  )
}

/**
 * What follows the cents of dollars is set back, and so is `filler`: the decimals that an amount does not have, in a column
 * whose amounts all have the same.
 */
function Digits({ of: text, filler }: { of: string; filler: string }) {
  const isDollars = /[1-9][\d,]*\./.test(text)
  const cents = isDollars ? text.indexOf('.') + 3 : text.length
  return (
    <>
      {text.slice(0, cents)}
      {text.length > cents && <span className="money-rest">{text.slice(cents)}</span>}
      {filler !== '' && (
        <span className="money-rest select-none" aria-hidden="true">
          {filler}
        </span>
      )}
    </>
  )
}
