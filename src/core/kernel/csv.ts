export type CsvCell = string | number | boolean | null

/** One record of a CSV file (RFC 4180) with its line end. Null is an empty field. */
export const csvLine = (cells: readonly CsvCell[]): string => `${cells.map(csvField).join(',')}\r\n`

/**
 * One field. Text that a spreadsheet would interpret as a formula is prefixed with an apostrophe, because names in
 * an export are untrusted. Amounts are safe unchanged, and none is negative.
 */
function csvField(cell: CsvCell): string {
  if (cell === null) return ''
  if (typeof cell !== 'string') return String(cell)
  const text = /^[=+\-@\t\r]/.test(cell) ? `'${cell}` : cell
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
