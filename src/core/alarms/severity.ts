/** Lowest first. `critical`: customers or money are affected now. `warning`: check today. `info`: for the record. */
export const SEVERITIES = ['info', 'warning', 'critical'] as const
export type Severity = (typeof SEVERITIES)[number]
