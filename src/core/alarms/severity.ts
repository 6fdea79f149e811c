/** Least first. `critical`: customers or money are affected now. `warning`: look today. `info`: for the record. */
export const SEVERITIES = ['info', 'warning', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]
