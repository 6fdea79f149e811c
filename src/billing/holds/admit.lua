-- Admits one call: checks the rate and concurrency limits of its key and its account, the balance, and the
-- allowances of its budgets, all or nothing, in that order. Its job, if given, is enqueued in the same step if the call
-- is granted all it asks for, as BullMQ 6.7 does (`<prefix>:<queue>:<list, or job id>`), without an event.
--
-- The only arithmetic on amounts in Lua numbers, the number of tokens that a short balance affords, is exact up to 2^53;
-- beyond that, fewer tokens are granted and more is held than exact digits would give.
--
-- KEYS  1 record of the account  2 dispatch queue (without a list), a key that never exists
-- ARGV  1 hold id  2 hold lifetime ms  3 amount  4 '1' when the completion limit may shrink
--       5 prompt cost  6 completion rate  7 completion limit
--       8 requests per minute  9 tokens per minute  10 tokens of this call  11 concurrent calls
--       12 key id  13 draws: the budgets, whose allowances must cover it, see holds.lua
--       14 requests per minute of the account  15 concurrent calls of the account
--       16 '1' for a repeat of a call: it counts as one request and takes no hold
--       17 latest time of admission, unix ms, or ''
--       18 bytes of its body, 0 for a light one  19 maximum bytes of open calls of the key  20 of the account
--       21 data of its job, or ''  22 now, unix ms, of the caller's clock
--       23 share of the account in the queue  24 time step  25 the last step that it may be delayed to (see admission.ts)
--       26 number of priorities  27 lifetime of the mark of the admitted call, ms
--       28 token of a worker with a free slot, or '': it claims the job, which is not enqueued if other calls wait
--       29 lifetime of its lock, ms
--       30 hash of its conversation, or absent  31 the candidates that it may be on, a line each, '' for others (see affinity.ts)
-- Returns {outcome, limit of requests, remaining requests, remaining tokens, window reset ms, ...}, with the request limit
-- that has fewer left, the key's or the account's
--   'ok', …, amount held, completion limit granted, open calls of the account including this one,
--     0: not enqueued, 1: enqueued, 2: enqueued and claimed, the candidate to try first, from 0
--   'rate' | 'concurrency' | 'bytes', …, retry after ms, 'key' | 'account'
--   'balance', …, available amount, completion tokens that it affords
--   'allowance', …, the same, and the number of the budget, from 1
--   'late', … when the latest time has passed: Redis was blocked
--   'load-balance', … when the balance is not loaded
--   'load-allowance', …, the numbers of the budgets that are not loaded, from 1
local record, queue = KEYS[1], KEYS[2]
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
local function read_window(use, max)
  local seen_window, seen_requests, seen_tokens, before_requests, before_tokens, calls, bytes =
    string.match(use or '', '^(%d*):?(%d*):?(%d*):?(%d*):?(%d*) (%d+) (%d+)$')
  local requests, used, last_requests, last_used = 0, 0, 0, 0
  if tonumber(seen_window) == window then
    requests, used = tonumber(seen_requests), tonumber(seen_tokens)
    last_requests, last_used = tonumber(before_requests), tonumber(before_tokens)
  elseif tonumber(seen_window) == window - 1 then
    last_requests, last_used = tonumber(seen_requests), tonumber(seen_tokens)
  end
  return {
    max = max, requests = requests, used = used, last_requests = last_requests, last_used = last_used,
    left = max - requests - last_requests * (1 - elapsed), calls = tonumber(calls) or 0,
    bytes = tonumber(bytes) or 0,
  }
end
local key_use = 'use:' .. key
local account = open_record(record, { 'avail', 'listed', 'due', 'use', key_use, id })
local fields = account.fields
local mark = account.tag .. 'admitted:' .. id
local allowances = { mark }
for draw in string.gmatch(draws, '[^,]+') do
  allowances[#allowances + 1] = allowance_of(account.prefix, key, draw)
end
local allowed = redis.call('MGET', unpack(allowances))
local is_marked = table.remove(allowed, 1)
table.remove(allowances, 1)
local of_key = read_window(fields[key_use], tonumber(ARGV[8]))
local of_account = read_window(fields.use, tonumber(ARGV[14]))
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
  return answer('ok', amount, limit, of_account.calls, tonumber(is_marked))
end
-- The same for a call that was not enqueued: it keeps its hold. Checked only where a call would be refused or
-- where a second hold would be opened.
local function admitted_before()
  local held_amount, granted = parse_hold(fields[id] or '')
  return held_amount and answer('ok', held_amount, granted, of_account.calls, 0)
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
local function count(counts, use, calls, bytes)
  counts.requests, counts.left, counts.used = counts.requests + 1, counts.left - 1, counts.used + tokens
  counts.calls, counts.bytes = counts.calls + calls, counts.bytes + bytes
  local text = string.format('%d:%d:%d:%d:%d %d %d', window, counts.requests, counts.used,
    counts.last_requests, counts.last_used, counts.calls, counts.bytes)
  change(account, use, text)
end
-- Counts the call in the rates, and its place if it takes one.
local function take_rate(calls, bytes)
  count(of_key, key_use, calls, bytes)
  count(of_account, 'use', calls, bytes)
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
  take_rate(0, 0)
  save(account)
  if not fields.listed then redis.call('PEXPIRE', record, DAY) end
  return answer('ok', 0, 0, of_account.calls, 0)
end

-- Ends the places of calls whose end was lost, at their deadline.
local function free_expired()
  local whole, due, expired = open_whole(record), nil, {}
  for field, value in pairs(whole.fields) do
    local _, _, _, _, deadline, bytes = parse_hold(value or '')
    if deadline and bytes ~= '' then
      if tonumber(deadline) <= now then expired[#expired + 1] = field
      else due = math.min(due or tonumber(deadline), tonumber(deadline)) end
    end
  end
  for _, field in ipairs(expired) do end_place(whole, field) end
  change(whole, 'due', due and string.format('%d', due) or false)
  save(whole)
  for _, field in ipairs({ 'due', 'use', key_use }) do fields[field] = whole.fields[field] or false end
  for use, counts in pairs({ use = of_account, [key_use] = of_key }) do
    local _, calls, bytes = parse_use(fields[use])
    counts.calls, counts.bytes = calls, bytes
  end
end

local body_bytes = tonumber(ARGV[18])
-- What one more call would exceed, and whose limit it is.
local function excess()
  if of_key.calls >= tonumber(ARGV[11]) then return 'concurrency', 'key' end
  if of_account.calls >= tonumber(ARGV[15]) then return 'concurrency', 'account' end
  if body_bytes == 0 then return nil end
  if of_key.bytes + body_bytes > tonumber(ARGV[19]) then return 'bytes', 'key' end
  if of_account.bytes + body_bytes > tonumber(ARGV[20]) then return 'bytes', 'account' end
end
if excess() and fields.due and tonumber(fields.due) <= now then free_expired() end
local exceeded, scope = excess()
if exceeded then return refuse(exceeded, 1000, scope) end

if not fields.avail then return refuse('load-balance') end
local missing = {}
for i = 1, #allowances do
  if not allowed[i] then missing[#missing + 1] = i end
end
if #missing > 0 then return refuse('load-allowance', unpack(missing)) end

-- Returns what is insufficient for a sum; for budgets, the one with the least left after it.
local function is_short_of(sum)
  local avail = fields.avail
  local is_short = (string.byte(avail) == MINUS or exceeds(sum, avail)) and 'balance'
  local least, tightest = 0, nil
  for i, left in ipairs(allowed) do
    local rest = tonumber(minus(left, sum))
    if rest < least then least, tightest = rest, i end
  end
  if is_short or tightest then return is_short or 'allowance', tightest end
end

local EXACT = 2 ^ 53
local short, budget = is_short_of(amount)
if short then
  local available = fields.avail
  for _, left in ipairs(allowed) do
    if tonumber(left) < tonumber(available) then available = left end
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
    amount = string.format('%d', cost)
    limit = string.format('%d', affords)
    short, budget = is_short_of(amount)
  end
  if short then return refuse(short, available, affords, budget) end
end

if fields[id] then return admitted_before() end
for _, left in ipairs(allowances) do redis.call('DECRBY', left, amount) end
change(account, 'avail', minus(fields.avail, amount))
take_rate(1, body_bytes)
open_hold(account, id, now + lifetime, amount, limit, key, draws, ARGV[18])
save(account)
local open_calls = of_account.calls

-- The candidate that the conversation is on, if it may still be and is not there for an hour; otherwise the first, where it is
-- from now on. It is forgotten ten minutes after its last call.
local IDLE, HOUR = 600000, 3600000
local function candidate_of_conversation()
  if not ARGV[30] then return 0 end
  local key = account.prefix .. 'conversation:' .. ARGV[30]
  local since, target = string.match(redis.call('GETEX', key, 'PX', IDLE) or '', '^(%d+) (.+)$')
  local index = 0
  if since and now - since < HOUR then
    for candidate in string.gmatch(ARGV[31] .. '\n', '([^\n]*)\n') do
      if candidate == target then return index end
      index = index + 1
    end
  end
  redis.call('SET', key, string.format('%.0f ', now) .. string.match(ARGV[31], '^[^\n]+'), 'PX', IDLE)
  return 0
end
local first = candidate_of_conversation()
if job == '' or amount ~= ARGV[3] or limit ~= ARGV[7] then return answer('ok', amount, limit, open_calls, 0, first) end

local token = ARGV[28]
local is_claimed = token ~= '' and redis.call('HEXISTS', queue .. ':meta', 'paused') == 0
  and redis.call('EXISTS', queue .. ':wait', queue .. ':prioritized') == 0
-- Its job has no body for other workers.
if token ~= '' and not is_claimed then return answer('ok', amount, limit, open_calls, 0, first) end
if first > 0 then job = string.sub(job, 1, -2) .. ',"first":' .. first .. '}' end

local beyond = open_calls - tonumber(ARGV[23])
local priority = 0
if beyond > 0 then
  priority = 1 + math.min(tonumber(ARGV[24]) + beyond, tonumber(ARGV[25])) % tonumber(ARGV[26])
end
local call = queue .. ':' .. id
local options = '{"jobId":"' .. id .. '","removeOnComplete":true,"removeOnFail":true,"attempts":0,"priority":'
  .. priority .. '}'
local fields = { 'name', 'call', 'data', job, 'opts', options, 'timestamp', ARGV[22], 'delay', '0', 'priority', priority }
if is_claimed then
  redis.call('HSET', call, 'processedOn', ARGV[22], 'ats', '1', 'by', token, unpack(fields))
  redis.call('LPUSH', queue .. ':active', id)
  redis.call('SET', call .. ':lock', token, 'PX', ARGV[29])
else
  redis.call('HSET', call, unpack(fields))
  local is_first = true
  if priority == 0 then
    -- Those that wait before it have set the marker, and who takes it claims all or sets it again.
    is_first = redis.call('LPUSH', queue .. ':wait', id) == 1
  else
    local order = redis.call('INCR', queue .. ':pc') % 0x100000000
    redis.call('ZADD', queue .. ':prioritized', priority * 0x100000000 + order, id)
  end
  if is_first then redis.call('ZADD', queue .. ':marker', '0', '0') end
end
local enqueued = is_claimed and 2 or 1
redis.call('SET', mark, enqueued, 'PX', ARGV[27])
return answer('ok', amount, limit, open_calls, enqueued, first)
