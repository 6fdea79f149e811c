import { chooseAutoModels } from '../../src/core/auto/auto-routing.ts'
import { type CallRequest, kindOf } from '../../src/core/calls/kinds/call-kinds.ts'
import { planRoute } from '../../src/core/routing/call-plan.ts'
import type { PlanOptions } from '../../src/core/routing/plan-offers.ts'

type Rest = [catalog: Parameters<typeof planRoute>[2], options: Omit<PlanOptions, 'chooseAutoModels'>]

/** The needs of a call. */
export const needsOf = ({ content }: Pick<CallRequest, 'content'>) => kindOf(content).needs(content)

/** The plan of a call whose text is bounded by so many tokens, whatever it says. */
export function planOf(request: CallRequest, textTokens: number, ...[catalog, given]: Rest) {
  const needs = needsOf(request)
  const options = { ...given, chooseAutoModels }
  return planRoute(request, { ...needs, prompt: { ...needs.prompt, textTokens } }, catalog, options)
}
