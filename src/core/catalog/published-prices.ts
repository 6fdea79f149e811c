/**
 * What the maker of the messages wire charges for uses of its tools, for models that are served on it. USD per million: of
 * searches at 10 USD per 1,000, and of calls that run programs for its minimum of five minutes at 0.05 USD an hour. Fetches
 * of pages cost their tokens.
 */
export const PUBLISHED_USE_PRICES = { web_search: '10000', code_execution: '4166.666667' } as const
