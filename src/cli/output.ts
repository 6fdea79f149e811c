import type { CommandOutput } from './run-command.ts'

/** A view of one thing, as JSON and as lines. */
export const one = (view: Record<string, unknown>): CommandOutput => ({ data: view, text: lines(view) })

/** A view of one thing with its secret, which is shown this once. */
export const withSecret = (
  field: string,
  secret: string,
  note: string,
  view: Record<string, unknown>,
): CommandOutput => ({ data: { ...view, [field]: secret }, text: `${secret}\n\n${note}\n\n${lines(view)}` })

export const list = (
  name: string,
  views: ReadonlyArray<Record<string, unknown>>,
  none: string,
): CommandOutput => ({ data: { [name]: views }, text: views.map(lines).join('\n\n') || none })

/** A view under which the id has the name of its kind, as commands print it. */
export const named = <View extends { id: string }>(name: string, { id, ...view }: View) => ({
  [name]: id,
  ...view,
})

/** Lines of `name  value`, aligned, for people. Nulls and empty texts are left out. */
export function lines(view: Record<string, unknown>): string {
  const shown = Object.entries(view).filter(([, value]) => value !== null && value !== '')
  const width = Math.max(...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${name.padEnd(width)}  ${String(value)}`).join('\n')
}
