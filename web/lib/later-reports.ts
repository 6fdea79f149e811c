/** What was reported after a value that came back from a report, while typing may have gone on; null: it came otherwise. */
export function laterReports(reported: readonly string[], value: string): string[] | null {
  const at = reported.indexOf(value)
  return at < 0 ? null : reported.slice(at + 1)
}
