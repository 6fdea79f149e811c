import type { FastifyReply } from 'fastify'

export type CsvCell = string | number | boolean | null

const AMOUNT = /^-?\d+(?:\.\d+)?$/

/** One record of a CSV file (RFC 4180) with its line end. Null is an empty field. */
export const csvLine = (cells: readonly CsvCell[]): string => `${cells.map(csvField).join(',')}\r\n`

/**
 * Where a spreadsheet may begin a cell and read a formula in it: at the start of a text, and after what it separates cells or
 * lines by, which in many countries is a semicolon; it skips spaces and quotes. Characters of full width count as plain ones.
 */
const FORMULA = /(?<=^|[;\t\r\n])(?=[" ]*[=+\-@\uff1d\uff0b\uff0d\uff20])/g

/**
 * One field. Text is untrusted: it is quoted, and an apostrophe keeps from being a formula what a spreadsheet would
 * interpret as one. Amounts are safe unchanged.
 */
function csvField(cell: CsvCell): string {
  if (cell === null) return ''
  if (typeof cell !== 'string' || AMOUNT.test(cell)) return String(cell)
  return `"${cell.replace(FORMULA, "'").replaceAll('"', '""')}"`
}

/** Headers of a CSV answer, to be saved under a name. */
export function asCsv(reply: FastifyReply, name: string): FastifyReply {
  return reply.headers({
    'content-type': 'text/csv; charset=utf-8; header=present',
    'content-disposition': `attachment; filename="${name}.csv"`,
  })
}
