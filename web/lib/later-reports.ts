/** What was reported after a value that came back from a report, while more may have been typed; null: it has another cause. */
export function laterReports(reported: readonly string[], value: string): string[] | null {
  const at = reported.indexOf(value)
  return at < 0 ? null : reported.slice(at + 1)
}
