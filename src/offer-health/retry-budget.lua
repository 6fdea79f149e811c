-- Counts calls and grants retries from the fleet's shared budget. The rule is that of
-- src/routing/retry-budget.ts, implemented here because counting and granting must be one step.
--
-- KEYS  1 budget (hash: c<second> calls, r<second> retries)
-- ARGV  1 now, unix ms  2 window ms  3 calls to add  4 '1' to ask for a retry
--       5 retries per hundred calls  6 retries always allowed in a window
-- Returns 1 when a retry is granted, otherwise 0.
local budget = KEYS[1]
local second, seconds = math.floor(tonumber(ARGV[1]) / 1000), math.ceil(tonumber(ARGV[2]) / 1000)
local calls_to_add, asks = tonumber(ARGV[3]), ARGV[4] == '1'
local percent, floor = tonumber(ARGV[5]), tonumber(ARGV[6])

if calls_to_add > 0 then redis.call('HINCRBY', budget, 'c' .. second, calls_to_add) end
redis.call('PEXPIRE', budget, (seconds + 1) * 1000)
if not asks then return 0 end

local calls, retries = 0, 0
local counts = redis.call('HGETALL', budget)
for i = 1, #counts, 2 do
  local kind, at = string.sub(counts[i], 1, 1), tonumber(string.sub(counts[i], 2))
  if at <= second - seconds then
    redis.call('HDEL', budget, counts[i])
  elseif kind == 'c' then
    calls = calls + tonumber(counts[i + 1])
  else
    retries = retries + tonumber(counts[i + 1])
  end
end
if retries >= math.max(floor, math.floor(calls * percent / 100)) then return 0 end
redis.call('HINCRBY', budget, 'r' .. second, 1)
return 1
