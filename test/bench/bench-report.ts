import { FAIRNESS_RATIO_MAX, type Fairness } from './fairness.ts'
import type { HotPathCounts } from './hot-path-counts.ts'
import { type LoopStalls, STALL_MAX_MS } from './loop-stalls.ts'
import type { Comparison } from './measurements.ts'
import type { SettlementDrain } from './settlement-drain.ts'

export interface BenchReport {
  comparisons: Comparison[]
  /** Share of the machine that others took meanwhile, 0 to 1. */
  othersShare: number
  fairness: Fairness
  loopStalls: LoopStalls
  processorMicrosPerCall: Record<string, number>
  memoryBytes: Record<string, number>
  hotPath: HotPathCounts
  settlement: SettlementDrain
  audit: 'green' | 'red'
  failures: string[]
  seconds: number
}

const MOST_COMMANDS = 14

/** The report as a table for people. */
export function renderReport(report: BenchReport): string {
  const comparisons = [
    ['', 'direct', 'gateway', 'added', 'ratio'],
    ...report.comparisons.map((row) => [
      row.name,
      figure(row.direct, row.unit),
      figure(row.gateway, row.unit),
      row.unit === 'ms' ? figure(row.gateway - row.direct, 'ms') : '',
      (row.gateway / row.direct).toFixed(2),
    ]),
  ]
  const processes = [
    ['process', 'CPU a call', 'memory'],
    ...Object.keys(report.memoryBytes).map((name) => [
      name,
      `${(report.processorMicrosPerCall[name] ?? 0).toFixed(0)} µs`,
      `${Math.round((report.memoryBytes[name] ?? 0) / 2 ** 20)} MB`,
    ]),
  ]
  const { hotPath, settlement, fairness, loopStalls } = report
  const commands = hotPath.redisCommands
    .slice(0, MOST_COMMANDS)
    .map(({ command, perCall }) => `${command} ${perCall.toFixed(2)}`)
  return [
    columns(comparisons),
    columns(processes),
    renderFairness(fairness),
    renderLoopStalls(loopStalls),
    `Redis, one caller, settlement included: ${hotPath.redisCommandsPerCall.toFixed(1)} commands a call, ` +
      `${hotPath.redisScriptsPerCall.toFixed(1)} of them scripts (${hotPath.calls} calls)`,
    `  ${commands.join(', ')}`,
    `PostgreSQL statements before settlement: ${hotPath.postgresStatementsBeforeSettlement}`,
    `settlement: ${settlement.settled} calls in the books, ${settlement.seconds.toFixed(1)} s after the last load`,
    `audit: ${report.audit}`,
    ...report.failures.map((failure) => `FAILED ${failure}`),
    `other processes took ${(100 * report.othersShare).toFixed(0)} % of this machine meanwhile`,
    `took ${report.seconds.toFixed(0)} s`,
  ].join('\n')
}

function renderLoopStalls({ api, dispatch }: LoopStalls): string {
  const verdict = Math.max(api, dispatch) <= STALL_MAX_MS ? 'within' : 'BEYOND'
  return (
    `longest stall of an event loop under hostile load: API ${api.toFixed(0)} ms, ` +
    `dispatch worker ${dispatch.toFixed(0)} ms, ${verdict} ${STALL_MAX_MS} ms`
  )
}

function renderFairness({ aloneP99Ms, besideFloodP99Ms }: Fairness): string {
  const ratio = besideFloodP99Ms / aloneP99Ms
  return (
    `a quiet account beside a flooding one: p99 ${figure(aloneP99Ms, 'ms')} alone, ` +
    `${figure(besideFloodP99Ms, 'ms')} beside it, ratio ${ratio.toFixed(2)} ` +
    `(${ratio <= FAIRNESS_RATIO_MAX ? 'within' : 'BEYOND'} ${FAIRNESS_RATIO_MAX})`
  )
}

function figure(value: number, unit: Comparison['unit']): string {
  return unit === 'ms' ? `${value.toFixed(2)} ms` : `${Math.round(value).toLocaleString('en')}/s`
}

function columns(rows: string[][]): string {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  const line = (row: string[]) =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
      .join('  ')
  return `${rows.map(line).join('\n')}\n`
}
