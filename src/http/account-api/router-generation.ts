import type { GenerationDetail } from '../../core/api/calls.ts'

/** A call as the libraries of OpenRouter read it from `GET /generation?id=`: amounts as numbers, null for what is not known here. */
export function routerGeneration({ usage, timings, ...call }: GenerationDetail) {
  const cost = Number(call.cost_usd)
  return {
    ...UNKNOWN,
    id: call.id,
    model: call.model,
    request_id: call.request_id,
    created_at: timings.admitted_at,
    streamed: call.stream,
    cancelled: call.status === 'cancelled',
    finish_reason: call.finish_reason,
    is_byok: call.byok,
    latency: timings.first_token_ms,
    generation_time: timings.duration_ms,
    tokens_prompt: usage.prompt_tokens,
    tokens_completion: usage.completion_tokens,
    native_tokens_prompt: usage.prompt_tokens,
    native_tokens_completion: usage.completion_tokens,
    native_tokens_cached: usage.cached_tokens ?? null,
    num_search_results: usage.web_searches ?? null,
    session_id: call.labels?.session ?? null,
    http_referer: call.labels?.referer ?? null,
    total_cost: cost,
    usage: cost,
    service_tier: call.service_tier ?? null,
    origin: call.labels?.referer ?? '',
    data_region: 'global',
  }
}

/** The fields that those libraries demand. */
const UNKNOWN = Object.fromEntries(
  [
    'api_type app_id cache_discount external_user moderation_latency native_finish_reason',
    'native_tokens_completion_images native_tokens_reasoning num_fetches num_input_audio_prompt',
    'num_media_completion num_media_prompt preset_id provider_name provider_responses router',
    'upstream_id upstream_inference_cost user_agent web_search_engine workspace_id',
  ].flatMap((names) => names.split(' ').map((name) => [name, null])),
)
