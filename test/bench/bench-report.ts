import type { Row, Spread, Unit } from './samples.ts'
import type { SettlementDrain } from './settlement-drain.ts'

export interface BenchReport {
  /** The target whose figures are divided by the others'. */
  subject: string
  targets: string[]
  turns: number
  rows: Row[]
  /** What each gateway's database says after the load. */
  ledgers: Array<{ target: string; settlement: SettlementDrain; audit: 'green' | 'red' }>
  /** Share of the machine that others took meanwhile, 0 to 1. */
  othersShare: number
  failures: string[]
  seconds: number
}

/** The report as tables for people. */
export function renderReport(report: BenchReport): string {
  const { subject, targets, rows } = report
  const others = targets.filter((target) => rows.some(({ ratios }) => ratios[target]))
  const figures = rows.map(({ name, unit, figures }) => [
    unit === '' ? name : `${name}, ${unit}`,
    ...targets.map((target) => renderSpread(figures[target], (value) => renderValue(value, unit))),
  ])
  const ratios = rows
    .filter((row) => Object.keys(row.ratios).length > 0)
    .map(({ name, ratios }) => [
      name,
      ...others.map((other) => renderSpread(ratios[other], (value) => value.toFixed(2))),
    ])
  return [
    `medians of ${report.turns} turn${report.turns === 1 ? '' : 's'} (lowest to highest)`,
    renderColumns([['', ...targets], ...figures]),
    ...(others.length > 0 ? [renderColumns([[`${subject} ÷`, ...others], ...ratios])] : []),
    ...report.ledgers.map(
      ({ target, settlement, audit }) =>
        `${target}: ${settlement.settled} calls settled, ${settlement.seconds.toFixed(1)} s after the last load; audit ${audit}`,
    ),
    ...report.failures.map((failure) => `FAILED ${failure}`),
    `other processes took ${(100 * report.othersShare).toFixed(0)} % of this machine meanwhile`,
    `took ${report.seconds.toFixed(0)} s`,
  ].join('\n')
}

function renderSpread(spread: Spread | undefined, render: (value: number) => string): string {
  if (!spread) return ''
  const { median, lowest, highest, turns } = spread
  return turns.length === 1 ? render(median) : `${render(median)} (${render(lowest)}–${render(highest)})`
}

const DECIMALS: Record<Unit, number> = { '/s': 0, ms: 2, µs: 0, '%': 1, MB: 0, kB: 1, '': 2 }

function renderValue(value: number, unit: Unit): string {
  const digits = DECIMALS[unit]
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

/** The first column to the left, all others to the right. */
export function renderColumns(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const line = (row: string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join('  ')
  return `${rows.map(line).join('\n')}\n`
}
