/** The states that each state of a machine may be followed by. */
export type Transitions<State extends string> = Readonly<Record<State, readonly State[]>>

/** The next state of a machine. Throws if it has no such transition, which is a bug: the call of the machine fails. */
export function transition<State extends string>(
  transitions: Transitions<State>,
  from: State,
  to: State,
  machine: string,
): State {
  if (!transitions[from].includes(to)) throw new Error(`${machine}: no transition from ${from} to ${to}`)
  return to
}
