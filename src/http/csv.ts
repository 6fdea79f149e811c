import type { FastifyReply } from 'fastify'

export type CsvCell = string | number | boolean | null

const AMOUNT = /^-?\d+(?:\.\d+)?$/

/** One record of a CSV file (RFC 4180) with its line end. Null is an empty field. */
export const csvLine = (cells: readonly CsvCell[]): string => `${cells.map(csvField).join(',')}\r\n`

/**
 * Where a spreadsheet may start a cell with a formula: at the start of a text, and after a separator of cells or lines,
 * which in many countries is a semicolon; it skips spaces and quotes. Full-width characters count as plain ones.
 */
const FORMULA = /(?<=^|[;\t\r\n])(?=[" ]*[=+\-@\uff1d\uff0b\uff0d\uff20])/g

/**
 * One field. Text is untrusted: it is quoted, and an apostrophe prevents a spreadsheet from interpreting it as a
 * formula. Amounts are safe unchanged.
 */
function csvField(cell: CsvCell): string {
  if (cell === null) return ''
  if (typeof cell !== 'string' || AMOUNT.test(cell)) return String(cell)
  return `"${cell.replace(FORMULA, "'").replaceAll('"', '""')}"`
}

/** Sets the headers of a CSV response, to be saved under a name. */
export function asCsv(reply: FastifyReply, name: string): FastifyReply {
  return reply.headers({
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': `attachment; filename="${name}.csv"`,
  })
}
