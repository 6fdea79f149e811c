/** SQL for what a call's prompt comes to in pico-USD, by our rates or by what we pay; see `costOf` in core/pricing.ts. */
const promptSum = (price: 'rate' | 'cost') =>
  `((prompt_tokens - audio_tokens - image_tokens) * prompt_${price}_pico::numeric
    + audio_tokens * coalesce(prompt_audio_${price}_pico, prompt_${price}_pico)::numeric
    + image_tokens * coalesce(prompt_image_${price}_pico, prompt_${price}_pico)::numeric)`

export const PROMPT_SUM_SQL = { rate: promptSum('rate'), cost: promptSum('cost') } as const
