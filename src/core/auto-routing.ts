import type { CatalogSnapshot, Model } from './catalog.ts'
import type { ChatMessage, ChatRequest, RoutingProfile } from './chat-request.ts'
import type { RequestShape } from './request-shape.ts'

/** How a profile turns difficulty (0 to 1) into a place on the price ladder of models (0 cheapest, 1 dearest). */
const LADDER: Record<RoutingProfile, (difficulty: number) => number> = {
  eco: (difficulty) => 0.35 * difficulty,
  auto: (difficulty) => 0.75 * difficulty,
  premium: (difficulty) => 0.6 + 0.4 * difficulty,
  agentic: (difficulty) => 0.4 + 0.5 * difficulty,
}

const MODELS_TRIED = 3

/**
 * The models `auto` would use, best fit first: of those that can take the request, the one whose place on
 * the price ladder fits the difficulty, then its neighbours. Price stands for capability.
 */
export function rankAutoModels(request: ChatRequest, shape: RequestShape, catalog: CatalogSnapshot): Model[] {
  const profile = request.routingProfile ?? 'auto'
  const needsTools = profile === 'agentic' || request.parameters.tools !== undefined
  const ladder = catalog.autoLadder
  const place = Math.round(LADDER[profile](difficulty(request.messages)) * (ladder.length - 1))
  const ranked: Model[] = []
  for (let distance = 0; distance < ladder.length && ranked.length < MODELS_TRIED; distance++) {
    // The dearer neighbour first: a fallback should not be weaker than the first choice if it can be helped.
    for (const index of distance === 0 ? [place] : [place + distance, place - distance]) {
      const model = ladder[index]
      if (model && canTake(model, shape, needsTools)) ranked.push(model)
    }
  }
  return ranked.slice(0, MODELS_TRIED)
}

function canTake(model: Model, shape: RequestShape, needsTools: boolean): boolean {
  return (
    shape.modalities.every((modality) => model.inputModalities.includes(modality)) &&
    shape.promptTokensAtLeast < model.contextLength &&
    (!needsTools || model.supportedParameters.includes('tools'))
  )
}

const SCANNED_CHARS = 4_000
const LONG_QUESTION_CHARS = 1_500
const HARD_SIGNS =
  /[=<>∑∫√^{}]|\d+\s*[-+*/%]\s*\d|```|\b(?:prove|derive|optimi[sz]e|analy[sz]e|refactor|debug|theorem|algorithm|step by step)\b/gi
const MANY_SIGNS = 12

/**
 * A local guess, 0 to 1, at how hard the last user turn is: its length and how much of it looks like
 * mathematics, code or a demand for reasoning. Scans a bounded piece of the text.
 */
export function difficulty(messages: readonly ChatMessage[]): number {
  const last = messages.findLast((message) => message.role === 'user')
  if (!last) return 0.5
  const whole =
    typeof last.content === 'string' ? last.content : last.content.map((part) => part.text ?? '').join('\n')
  const text = whole.slice(0, SCANNED_CHARS)
  const signs = text.match(HARD_SIGNS)?.length ?? 0
  const length = Math.min(1, whole.length / LONG_QUESTION_CHARS)
  return Math.min(1, 0.5 * length + 0.5 * Math.min(1, signs / MANY_SIGNS))
}
