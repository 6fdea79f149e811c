-- Counts failures and successes of one offer in its rolling window and opens its breaker when they say so.
-- Times come from callers, who all follow this server's clock.
--
-- KEYS  1 window (hash)  2 breakers (hash)  3 set while the provider takes our key
-- ARGV  1 offer id  2 now, unix ms  3 window ms  4 failures to add  5 successes to add
--       6 failures that open  7 percentage of failures that opens
--       8 the entry an opened breaker gets  9 '1' to open whatever the counts  10 channel
--       11 ms for which what is no refusal shows that our key is taken
-- Returns 1 when it opened the breaker, else 0.
local window, breakers = KEYS[1], KEYS[2]
local offer, now, span = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local failures, successes = tonumber(ARGV[4]), tonumber(ARGV[5])
local threshold, percent = tonumber(ARGV[6]), tonumber(ARGV[7])
local entry, at_once, channel = ARGV[8], ARGV[9] == '1', ARGV[10]

local function open()
  redis.call('HSET', breakers, offer, entry)
  redis.call('DEL', window)
  redis.call('PUBLISH', channel, cjson.encode({ 'breaker', offer, entry }))
  return 1
end

if not at_once then redis.call('SET', KEYS[3], '1', 'PX', ARGV[11]) end
local current = redis.call('HGET', breakers, offer)
if at_once then
  -- An offer that refuses us is already down for that reason, or goes down for it now.
  if current and string.sub(current, 1, 8) == 'refused:' then return 0 end
  return open()
end
-- Calls that were under way when the breaker opened add nothing; only a probe moves it on.
if current then return 0 end

local BUCKETS = 6
local size = math.ceil(span / BUCKETS)
local bucket = math.floor(now / size)
if failures > 0 then redis.call('HINCRBY', window, 'f' .. bucket, failures) end
if successes > 0 then redis.call('HINCRBY', window, 's' .. bucket, successes) end
redis.call('PEXPIRE', window, span + size)
if failures == 0 then return 0 end

local failed, total = 0, 0
local counts = redis.call('HGETALL', window)
for i = 1, #counts, 2 do
  local kind, at = string.sub(counts[i], 1, 1), tonumber(string.sub(counts[i], 2))
  if at <= bucket - BUCKETS then
    redis.call('HDEL', window, counts[i])
  else
    total = total + tonumber(counts[i + 1])
    if kind == 'f' then failed = failed + tonumber(counts[i + 1]) end
  end
end
if failed >= threshold and failed * 100 >= percent * total then return open() end
return 0
