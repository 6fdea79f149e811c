import { type CallRequest, kindOf } from '../../src/core/calls/kinds/call-kinds.ts'
import { planRoute } from '../../src/core/routing/call-plan.ts'

type Rest = [catalog: Parameters<typeof planRoute>[2], options: Parameters<typeof planRoute>[3]]

/** The needs of a call. */
export const needsOf = ({ content }: Pick<CallRequest, 'content'>) => kindOf(content).needs(content)

/** The plan of a call whose text is bounded by so many tokens, whatever it says. */
export function planOf(request: CallRequest, textTokens: number, ...rest: Rest) {
  const needs = needsOf(request)
  return planRoute(request, { ...needs, prompt: { ...needs.prompt, textTokens } }, ...rest)
}
