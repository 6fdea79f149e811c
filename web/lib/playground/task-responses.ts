/** Responses of surfaces other than chat, as far as the playground shows them. */
export interface EmbeddingsResponse {
  data: Array<{ embedding: number[] }>
}

export interface RerankResponse {
  results: Array<{ index: number; relevance_score: number }>
}

export interface ModerationsResponse {
  results: Array<{
    flagged: boolean
    categories: Record<string, boolean>
    category_scores: Record<string, number>
  }>
}

export interface ImagesResponse {
  data: Array<{ b64_json: string; revised_prompt?: string }>
}

export interface TranscriptResponse {
  text: string
}

/** The texts of lines, without empty ones. */
export const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')

/** How alike two vectors are: 1 is the same direction. 0 where one of them has none. */
export function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, index) => sum + value * (y[index] ?? 0), 0)
  const lengths = Math.sqrt(dot(a, a)) * Math.sqrt(dot(b, b))
  return lengths === 0 ? 0 : dot(a, b) / lengths
}

/** A moderation's categories, the highest score first. */
export const categoriesOf = ({
  categories,
  category_scores: scores,
}: ModerationsResponse['results'][number]) =>
  Object.entries(scores)
    .map(([name, score]) => ({ name, score, isFlagged: categories[name] === true }))
    .sort((a, b) => b.score - a.score)
