-- Counts failures and successes at one offer in its rolling window and opens a breaker at the threshold: the offer's,
-- or, for failures in calls of one account, the one for that account's calls.
-- Times come from callers, who all follow this server's clock.
--
-- KEYS  1 window (hash)  2 breakers (hash)  3 set while the provider accepts our key  4 window of the account's failures
-- ARGV  1 offer id  2 now, unix ms  3 window ms  4 failures to add  5 successes to add
--       6 failures that open  7 percentage of failures that opens
--       8 the entry of an opened breaker  9 '1' to open whatever the counts  10 channel
--       11 how long a result besides a refusal shows that our key is accepted, ms
--       12 subject of the account's breaker, if there are failures  13 failures of one account that count for all
-- Returns 0, or { 1 when it opened the offer's breaker, 2 when the account's; failures; attempts in the window }.
local window, breakers, account_window = KEYS[1], KEYS[2], KEYS[4]
local offer, now, span = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local failures, successes = tonumber(ARGV[4]), tonumber(ARGV[5])
local threshold, percent = tonumber(ARGV[6]), tonumber(ARGV[7])
local entry, at_once, channel = ARGV[8], ARGV[9] == '1', ARGV[10]
local account, share = ARGV[12], tonumber(ARGV[13])

local function open(subject, counted)
  redis.call('HSET', breakers, subject, entry)
  redis.call('DEL', counted)
  redis.call('PUBLISH', channel, cjson.encode({ 'breaker', subject, entry }))
end

local BUCKETS = 6
local size = math.ceil(span / BUCKETS)
local bucket = math.floor(now / size)

-- Adds to a window. Returns the failures and successes in it.
local function add(key, more_failures, more_successes)
  if more_failures > 0 then redis.call('HINCRBY', key, 'f' .. bucket, more_failures) end
  if more_successes > 0 then redis.call('HINCRBY', key, 's' .. bucket, more_successes) end
  redis.call('PEXPIRE', key, span + size)
  local sums = { f = 0, s = 0 }
  local counts = redis.call('HGETALL', key)
  for i = 1, #counts, 2 do
    local kind, at = string.sub(counts[i], 1, 1), tonumber(string.sub(counts[i], 2))
    if at <= bucket - BUCKETS then
      redis.call('HDEL', key, counts[i])
    else
      sums[kind] = sums[kind] + tonumber(counts[i + 1])
    end
  end
  return sums.f, sums.s
end

local function opens(failed, succeeded)
  return failed >= threshold and failed * 100 >= percent * (failed + succeeded)
end

if not at_once then redis.call('SET', KEYS[3], '1', 'PX', ARGV[11]) end
local current = redis.call('HGET', breakers, offer)
if at_once then
  -- The breaker of an offer that refuses us is already open for that reason, or opens now.
  if current and string.sub(current, 1, 8) == 'refused:' then return 0 end
  open(offer, window)
  return { 1, 0, 0 }
end
-- Calls in flight when a breaker opened do not count; only a probe changes its state.
if current then return 0 end
if failures == 0 then
  add(window, 0, successes)
  return 0
end
if redis.call('HEXISTS', breakers, account) == 1 then return 0 end

local of_account = add(account_window, failures, 0)
local counted = math.max(0, math.min(failures, share - (of_account - failures)))
local failed, succeeded = add(window, counted, successes)
if opens(failed, succeeded) then
  open(offer, window)
  return { 1, failed, failed + succeeded }
end
if opens(of_account, succeeded) then
  open(account, account_window)
  return { 2, of_account, of_account + succeeded }
end
return 0
