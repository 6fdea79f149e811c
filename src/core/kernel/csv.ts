export type CsvCell = string | number | boolean | null

/** One record of a CSV file (RFC 4180), its line end included. Null is an empty field. */
export const csvLine = (cells: readonly CsvCell[]): string => `${cells.map(csvField).join(',')}\r\n`

/**
 * One field. Text that a spreadsheet would take for a formula gets an apostrophe before it: names in an export
 * may be anybody's. Amounts are safe as they are, and none is negative.
 */
function csvField(cell: CsvCell): string {
  if (cell === null) return ''
  if (typeof cell !== 'string') return String(cell)
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
