-- Admits one call: checks the rate and concurrency limits of its key and its account, the balance, and the
-- allowances of its budgets, all or nothing, in that order. Its job, if given, is enqueued in the same step if the call
-- is granted all it asks for, as BullMQ 6.7 does (`<prefix>:<queue>:<list, or job id>`), without an event.
--
-- The only arithmetic on amounts in Lua, the number of tokens that a short balance affords, is exact up to 2^53; beyond
-- that, fewer tokens are granted and more is held than exact digits would give.
--
-- KEYS  1 avail  2 held  3 holds  4 expiry  5 key rate  6 key open  7 account rate  8 account open
--       9 key bodies  10 account bodies  11 dispatch queue (without a list)  12 mark of the admitted call
--       then the allowance of each of its budgets
-- ARGV  1 hold id  2 hold lifetime ms  3 amount  4 '1' when the completion limit may shrink
--       5 prompt cost  6 completion rate  7 completion limit
--       8 requests per minute  9 tokens per minute  10 tokens of this call  11 concurrent calls
--       12 key id  13 draws: the budgets, see holds.lua
--       14 requests per minute of the account  15 concurrent calls of the account
--       16 '1' for a repeat of a call: it counts as one request and takes no hold
--       17 latest time of admission, unix ms, or ''
--       18 bytes of its body, 0 for a light one  19 maximum bytes of open calls of the key  20 of the account
--       21 data of its job, or ''  22 options of the job, JSON without its end  23 now, unix ms, of the caller's clock
--       24 share of the account in the queue  25 time step  26 the last step that it may be delayed to (see admission.ts)
--       27 number of priorities  28 lifetime of the mark of the admitted call, ms
--       29 token of a worker with a free slot, or '': it claims the job, which is not enqueued if other calls wait
--       30 lifetime of its lock, ms
-- Returns {outcome, limit of requests, remaining requests, remaining tokens, window reset ms, ...}, with the request limit
-- that has fewer left, the key's or the account's
--   'ok', …, amount held, completion limit granted, open calls of the account including this one,
--     0: not enqueued, 1: enqueued, 2: enqueued and claimed
--   'rate' | 'concurrency' | 'bytes', …, retry after ms, 'key' | 'account'
--   'balance', …, available amount, completion tokens that it affords
--   'allowance', …, the same, and the number of the budget, from 1
--   'late', … when the latest time has passed: Redis was blocked
--   'load-balance', … when the balance is not loaded
--   'load-allowance', …, the numbers of the budgets that are not loaded, from 1
local avail, held, holds, expiry, rate, open, account_rate, account_open, bodies, account_bodies, queue, mark =
  unpack(KEYS, 1, 12)
local allowances = { unpack(KEYS, 13) }
local id, lifetime, amount, flexible = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4] == '1'
local prompt_cost, completion_rate, limit = ARGV[5], ARGV[6], ARGV[7]
local max_tokens, tokens = tonumber(ARGV[9]), tonumber(ARGV[10])
local key, draws = ARGV[12], ARGV[13]
local job = ARGV[21]

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- A sliding window: this minute's count, and the last minute's weighted by the part of it within the last 60 s.
local WINDOW = 60000
local DAY = 86400000
local window = math.floor(now / WINDOW)
local elapsed = (now % WINDOW) / WINDOW
local function read_window(counters, max, seen)
  local seen_window, seen_requests, seen_tokens, before_requests, before_tokens =
    string.match(seen or '', '^(%d+) (%d+) (%d+) (%d+) (%d+)$')
  local requests, used, last_requests, last_used = 0, 0, 0, 0
  if tonumber(seen_window) == window then
    requests, used = tonumber(seen_requests), tonumber(seen_tokens)
    last_requests, last_used = tonumber(before_requests), tonumber(before_tokens)
  elseif tonumber(seen_window) == window - 1 then
    last_requests, last_used = tonumber(seen_requests), tonumber(seen_tokens)
  end
  return {
    counters = counters, max = max, requests = requests, used = used, last_requests = last_requests,
    last_used = last_used, left = max - requests - last_requests * (1 - elapsed),
  }
end
local seen = redis.call('MGET', rate, account_rate, mark, avail, unpack(allowances))
local seen_by_key, seen_by_account, is_marked, loaded_balance = unpack(seen, 1, 4)
local of_key = read_window(rate, tonumber(ARGV[8]), seen_by_key)
local of_account = read_window(account_rate, tonumber(ARGV[14]), seen_by_account)
local tokens_left = max_tokens - of_key.used - of_key.last_used * (1 - elapsed)
-- Time until none of the counted requests is within the last 60 s.
local function whole_again(counts)
  if counts.requests > 0 then return math.ceil((2 - elapsed) * WINDOW) end
  return counts.last_requests > 0 and math.ceil((1 - elapsed) * WINDOW) or 0
end

local function answer(outcome, ...)
  local tighter = of_account.left < of_key.left and of_account or of_key
  return {
    outcome, tighter.max, math.max(0, math.floor(tighter.left)), math.max(0, math.floor(tokens_left)),
    whole_again(tighter), ...
  }
end

-- A resent admission, whose first response was lost. The call may even have ended.
if job ~= '' and is_marked then
  return answer('ok', amount, limit, redis.call('ZCARD', account_open), tonumber(is_marked))
end
-- The same for a call that was not enqueued: it keeps its hold. Checked only where a call would be refused or
-- where a second hold would be opened.
local function admitted_before()
  local held_amount, granted = read_hold(holds, id)
  return held_amount and answer('ok', held_amount, granted, redis.call('ZCARD', account_open), 0)
end
local function refuse(...)
  return admitted_before() or answer(...)
end

if ARGV[17] ~= '' and now > tonumber(ARGV[17]) then return refuse('late') end

-- Time until `need` more fit under `max`, given the counts of this window and the last.
local function wait(max, need, current, last)
  if current + need <= max then
    return (math.max(0, 1 - (max - need - current) / last) - elapsed) * WINDOW
  end
  if current == 0 then return WINDOW end
  return (1 - elapsed + math.max(0, 1 - (max - need) / current)) * WINDOW
end
-- Calls differ in duration, and the set of open calls must outlive each of the window: a day longer than this call is
-- enough for all. Renewed once per window, by its first call.
local function count(counts, calls)
  if counts.requests == 0 then redis.call('PEXPIRE', calls, lifetime + DAY) end
  counts.requests, counts.left, counts.used = counts.requests + 1, counts.left - 1, counts.used + tokens
  local text = string.format('%.0f %.0f %.0f %.0f %.0f', window, counts.requests, counts.used, counts.last_requests,
    counts.last_used)
  redis.call('SET', counts.counters, text, 'PX', 2 * WINDOW)
end
local function take_rate()
  count(of_key, open)
  count(of_account, account_open)
  tokens_left = tokens_left - tokens
end

for _, counts in ipairs({ of_key, of_account }) do
  if counts.left < 1 then
    local retry_after = math.ceil(wait(counts.max, 1, counts.requests, counts.last_requests))
    return refuse('rate', retry_after, counts == of_key and 'key' or 'account')
  end
end
if tokens_left < tokens then
  return refuse('rate', math.ceil(wait(max_tokens, tokens, of_key.used, of_key.last_used)), 'key')
end

if ARGV[16] == '1' then
  take_rate()
  return answer('ok', 0, 0, redis.call('ZCARD', account_open), 0)
end

-- The number of open calls, or nil if one more would exceed the maximum. Calls whose end was lost end at their
-- deadline, and are removed only then.
local function count_open(calls, max)
  local count = redis.call('ZCARD', calls)
  if count < tonumber(max) then return count end
  count = count - redis.call('ZREMRANGEBYSCORE', calls, '-inf', now)
  return count < tonumber(max) and count or nil
end
if not count_open(open, ARGV[11]) then return refuse('concurrency', 1000, 'key') end
local open_before = count_open(account_open, ARGV[15])
if not open_before then return refuse('concurrency', 1000, 'account') end

-- Bytes of the bodies of open calls, by call. The script that ends a call removes it from the open ones, so its body no
-- longer counts.
local body_bytes = tonumber(ARGV[18])
local function has_room(of_calls, calls, max)
  local sum = body_bytes
  local found = redis.call('HGETALL', of_calls)
  for i = 1, #found, 2 do
    if redis.call('ZSCORE', calls, found[i]) then sum = sum + found[i + 1]
    else redis.call('HDEL', of_calls, found[i]) end
  end
  return sum <= tonumber(max)
end
if body_bytes > 0 then
  if not has_room(bodies, open, ARGV[19]) then return refuse('bytes', 1000, 'key') end
  if not has_room(account_bodies, account_open, ARGV[20]) then return refuse('bytes', 1000, 'account') end
end

if not loaded_balance then return refuse('load-balance') end
local missing = {}
for i = 1, #allowances do
  if not seen[4 + i] then missing[#missing + 1] = i end
end
if #missing > 0 then return refuse('load-allowance', unpack(missing)) end

local function give_back(sum)
  redis.call('INCRBY', avail, sum)
  for _, left in ipairs(allowances) do redis.call('INCRBY', left, sum) end
end
-- Returns what was insufficient, in which case nothing was taken; for budgets, the one with the least left.
local function take(sum)
  local is_short = redis.call('DECRBY', avail, sum) < 0 and 'balance'
  local least, tightest = 0, nil
  for i, left in ipairs(allowances) do
    local rest = redis.call('DECRBY', left, sum)
    if rest < least then least, tightest = rest, i end
  end
  if not (is_short or tightest) then return nil end
  give_back(sum)
  return is_short or 'allowance', tightest
end

local EXACT = 2 ^ 53
local short, budget = take(amount)
if short then
  local available = redis.call('GET', avail)
  for _, left in ipairs(allowances) do
    local rest = redis.call('GET', left)
    if tonumber(rest) < tonumber(available) then available = rest end
  end
  local spare = tonumber(available) - tonumber(prompt_cost)
  local affords = 0
  if spare >= 0 then
    affords = tonumber(completion_rate) > 0 and math.floor(spare / tonumber(completion_rate)) or tonumber(limit)
    if tonumber(available) > EXACT then affords = math.floor(affords * (1 - 2 ^ -40)) end
    affords = math.min(affords, tonumber(limit))
  end
  if flexible and affords >= 1 then
    local cost = tonumber(prompt_cost) + affords * tonumber(completion_rate)
    if cost > EXACT then cost = cost * (1 + 2 ^ -50) end
    amount = string.format('%.0f', cost)
    limit = string.format('%.0f', affords)
    short, budget = take(amount)
  end
  if short then return refuse(short, available, affords, budget) end
end

if not open_hold(held, holds, expiry, id, now + lifetime, amount, limit, key, draws) then
  give_back(amount)
  return admitted_before()
end
redis.call('ZADD', open, now + lifetime, id)
redis.call('ZADD', account_open, now + lifetime, id)
if body_bytes > 0 then
  for _, of_calls in ipairs({ bodies, account_bodies }) do
    redis.call('HSET', of_calls, id, body_bytes)
    redis.call('PEXPIRE', of_calls, lifetime + DAY)
  end
end
take_rate()
local open_calls = open_before + 1
if job == '' or amount ~= ARGV[3] or limit ~= ARGV[7] then return answer('ok', amount, limit, open_calls, 0) end

local token = ARGV[29]
local is_paused = redis.call('HEXISTS', queue .. ':meta', 'paused') == 1
local is_claimed = token ~= '' and not is_paused
  and redis.call('EXISTS', queue .. ':wait', queue .. ':prioritized') == 0
-- Its job has no body for other workers.
if token ~= '' and not is_claimed then return answer('ok', amount, limit, open_calls, 0) end

local beyond = open_calls - tonumber(ARGV[24])
local priority = 0
if beyond > 0 then
  priority = 1 + math.min(tonumber(ARGV[25]) + beyond, tonumber(ARGV[26])) % tonumber(ARGV[27])
end
local fields = {
  'name', 'call', 'data', job, 'opts', ARGV[22] .. ',"priority":' .. priority .. '}', 'timestamp', ARGV[23], 'delay', 0,
  'priority', priority,
}
if is_claimed then
  redis.call('HSET', queue .. ':' .. id, 'processedOn', ARGV[23], 'ats', 1, unpack(fields))
  redis.call('LPUSH', queue .. ':active', id)
  redis.call('SET', queue .. ':' .. id .. ':lock', token, 'PX', ARGV[30])
else
  redis.call('HSET', queue .. ':' .. id, unpack(fields))
  if priority == 0 then
    redis.call('LPUSH', queue .. ':wait', id)
  else
    local order = redis.call('INCR', queue .. ':pc') % 0x100000000
    redis.call('ZADD', queue .. ':prioritized', priority * 0x100000000 + order, id)
  end
  if not is_paused then redis.call('ZADD', queue .. ':marker', 0, '0') end
end
local enqueued = is_claimed and 2 or 1
redis.call('SET', mark, enqueued, 'PX', ARGV[28])
return answer('ok', amount, limit, open_calls, enqueued)
