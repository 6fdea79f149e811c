-- Claims waiting jobs in the order in which BullMQ's moveToActive claims one: jobs without a
-- priority, oldest first, then by priority. No event is written, since none is read. The marker that wakes
-- workers is set only if jobs still wait.
--
-- Jobs have the layout of BullMQ 6.7: `<prefix>:<queue>:<list, or job id>`.
--
-- KEYS  1 queue (without a list)
-- ARGV  1 token of the locks  2 lifetime of the locks, ms  3 now, unix ms; '' for Redis's own time  4 maximum number of jobs
--       5 'any', or 'within-share' to claim only jobs without a priority
-- Returns a list of {id, data, number of claims of this job, how often it stalled, its field body or false}, followed by
-- 'more' if further jobs wait;
-- or 'due' when delayed jobs must be moved first
local queue = KEYS[1] .. ':'
local token, lock_ms, now, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local wait, active, prioritized = queue .. 'wait', queue .. 'active', queue .. 'prioritized'

if redis.call('HEXISTS', queue .. 'meta', 'paused') == 1 then return {} end
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
end
local due = (tonumber(now) + 1) * 0x1000 - 1
if #redis.call('ZRANGEBYSCORE', queue .. 'delayed', 0, string.format('%.0f', due), 'LIMIT', 0, 1) > 0 then
  return 'due'
end

local function activate(ids)
  if #ids > 0 then redis.call('LPUSH', active, unpack(ids)) end
  return ids
end
local ids = activate(redis.call('RPOP', wait, most) or {})
if #ids < most and ARGV[5] == 'any' then
  local popped = redis.call('ZPOPMIN', prioritized, most - #ids)
  local by_priority = {}
  for at = 1, #popped, 2 do by_priority[#by_priority + 1] = popped[at] end
  for _, id in ipairs(activate(by_priority)) do ids[#ids + 1] = id end
end

local claimed = {}
for index, id in ipairs(ids) do
  local job = queue .. id
  local data, claims, stalls, body = unpack(redis.call('HMGET', job, 'data', 'ats', 'stc', 'body'))
  claims = (tonumber(claims) or 0) + 1
  redis.call('SET', job .. ':lock', token, 'PX', lock_ms)
  redis.call('HSET', job, 'processedOn', now, 'ats', claims)
  claimed[index] = { id, data, claims, tonumber(stalls) or 0, body }
end
if #claimed == most and (redis.call('EXISTS', wait) == 1 or redis.call('EXISTS', prioritized) == 1) then
  redis.call('ZADD', queue .. 'marker', 0, '0')
  claimed[#claimed + 1] = 'more'
end
return claimed
