-- Admits one call: rate limit, concurrency, key allowance and balance, all or nothing, in that order.
--
-- Amounts are 64-bit integers as text. Lua numbers lose digits above 2^53, so INCRBY and DECRBY do the sums
-- and the script looks at signs only. The one sum done in Lua, what a short balance affords, stays below
-- the amount asked for, which callers keep under 2^53.
--
-- KEYS  1 avail  2 held  3 holds  4 expiry  5 key rate  6 key open  7 key left
-- ARGV  1 hold id  2 hold lifetime ms  3 amount  4 '1' when the completion limit may shrink
--       5 prompt cost  6 completion rate  7 completion limit
--       8 requests per minute  9 tokens per minute  10 tokens of this call  11 concurrent calls
--       12 '1' when the key has an allowance  13 key id  14 allowance period or ''
-- Returns {outcome, remaining requests, remaining tokens, window reset ms, ...}
--   'ok', …, amount held, completion limit granted
--   'rate' | 'concurrency', …, retry after ms
--   'balance' | 'allowance', …, what is available, completion tokens that affords
--   'load-balance' | 'load-allowance', … when Redis does not know the figure yet
local avail, held, holds, expiry, rate, open, left = unpack(KEYS)
local id, lifetime, amount, flexible = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local prompt_cost, completion_rate, limit = ARGV[5], ARGV[6], ARGV[7]
local max_requests, max_tokens, tokens = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local max_open, limited, key, period = tonumber(ARGV[11]), ARGV[12] == '1', ARGV[13], ARGV[14]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- A sliding window: this minute's count, and the last minute's weighted by how much of it is still within 60 s.
local WINDOW = 60000
local DAY = 86400000
local window = math.floor(now / WINDOW)
local elapsed = (now % WINDOW) / WINDOW
local seen = redis.call('HMGET', rate, 'window', 'requests', 'tokens', 'last_requests', 'last_tokens')
local requests, used, last_requests, last_used = 0, 0, 0, 0
if tonumber(seen[1]) == window then
  requests, used, last_requests, last_used = tonumber(seen[2]), tonumber(seen[3]), tonumber(seen[4]), tonumber(seen[5])
elseif tonumber(seen[1]) == window - 1 then
  last_requests, last_used = tonumber(seen[2]), tonumber(seen[3])
end
local requests_left = max_requests - requests - last_requests * (1 - elapsed)
local tokens_left = max_tokens - used - last_used * (1 - elapsed)
-- When nothing of what is counted now is within 60 s any more.
local function whole_again()
  if requests > 0 then return math.ceil((2 - elapsed) * WINDOW) end
  return last_requests > 0 and math.ceil((1 - elapsed) * WINDOW) or 0
end

local function answer(outcome, ...)
  return { outcome, math.max(0, math.floor(requests_left)), math.max(0, math.floor(tokens_left)), whole_again(), ... }
end

local previous = redis.call('HGET', holds, id)
if previous then
  local held_amount, granted = string.match(previous, '^(%d+):(%d+):')
  return answer('ok', held_amount, granted)
end

-- How long until `need` more fit under `max`, given this window's and the last window's counts.
local function wait(max, need, current, last)
  if current + need <= max then
    return (math.max(0, 1 - (max - need - current) / last) - elapsed) * WINDOW
  end
  if current == 0 then return WINDOW end
  return (1 - elapsed + math.max(0, 1 - (max - need) / current)) * WINDOW
end
if requests_left < 1 then
  return answer('rate', math.ceil(wait(max_requests, 1, requests, last_requests)))
end
if tokens_left < tokens then
  return answer('rate', math.ceil(wait(max_tokens, tokens, used, last_used)))
end

redis.call('ZREMRANGEBYSCORE', open, '-inf', now)
if redis.call('ZCARD', open) >= max_open then
  return answer('concurrency', 1000)
end

if redis.call('EXISTS', avail) == 0 then return answer('load-balance') end
if limited and redis.call('EXISTS', left) == 0 then return answer('load-allowance') end

local function take(sum)
  local balance_short = redis.call('DECRBY', avail, sum) < 0
  local allowance_short = limited and redis.call('DECRBY', left, sum) < 0
  if not (balance_short or allowance_short) then return nil end
  redis.call('INCRBY', avail, sum)
  if limited then redis.call('INCRBY', left, sum) end
  return balance_short and 'balance' or 'allowance'
end

local short = take(amount)
if short then
  local available = redis.call('GET', avail)
  if limited and tonumber(redis.call('GET', left)) < tonumber(available) then available = redis.call('GET', left) end
  local spare = tonumber(available) - tonumber(prompt_cost)
  local affords = 0
  if spare >= 0 then
    affords = tonumber(completion_rate) > 0 and math.floor(spare / tonumber(completion_rate)) or tonumber(limit)
    affords = math.min(affords, tonumber(limit))
  end
  if flexible and affords >= 1 then
    amount = string.format('%.0f', tonumber(prompt_cost) + affords * tonumber(completion_rate))
    limit = string.format('%.0f', affords)
    short = take(amount)
  end
  if short then return answer(short, available, affords) end
end

redis.call('INCRBY', held, amount)
redis.call('HSET', holds, id, amount .. ':' .. limit .. ':' .. key .. ':' .. period)
redis.call('ZADD', expiry, now + lifetime, id)
redis.call('ZADD', open, now + lifetime, id)
redis.call('HSET', rate, 'window', window, 'requests', requests + 1, 'tokens', used + tokens,
  'last_requests', last_requests, 'last_tokens', last_used)
-- Lifetimes are renewed once a window, by its first call. Calls live unequally long, and `open` must outlive
-- each of the window: a day more than this one is enough for all.
if requests == 0 then
  redis.call('PEXPIRE', rate, 2 * WINDOW)
  redis.call('PEXPIRE', open, lifetime + DAY)
end
requests, requests_left, tokens_left = requests + 1, requests_left - 1, tokens_left - tokens
return answer('ok', amount, limit)
