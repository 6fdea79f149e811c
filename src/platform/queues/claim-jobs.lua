-- Claims some of the jobs that wait, in the order in which BullMQ's moveToActive claims one: those without a
-- priority, the oldest first, then by priority. No event is written, since nobody reads them; the marker that wakes
-- workers is set again only if something still waits.
--
-- Jobs have the layout of BullMQ 6.7: `<prefix>:<queue>:<list, or job id>`.
--
-- KEYS  1 queue (without a list)
-- ARGV  1 token of the locks  2 how long they stand, ms  3 now, unix ms  4 jobs to claim at the most
--       5 'any', or 'within-share' for those without a priority alone
-- Returns a list of {id, data, number of claims of this job}; or 'due' when delayed jobs are to be moved first
local queue = KEYS[1] .. ':'
local token, lock_ms, now, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local wait, active, prioritized = queue .. 'wait', queue .. 'active', queue .. 'prioritized'

if redis.call('HEXISTS', queue .. 'meta', 'paused') == 1 then return {} end
local due = (tonumber(now) + 1) * 0x1000 - 1
if #redis.call('ZRANGEBYSCORE', queue .. 'delayed', 0, string.format('%.0f', due), 'LIMIT', 0, 1) > 0 then
  return 'due'
end

local claimed = {}
while #claimed < most do
  local id = redis.call('RPOPLPUSH', wait, active)
  if not id then
    id = ARGV[5] == 'any' and redis.call('ZPOPMIN', prioritized)[1]
    if not id then break end
    redis.call('LPUSH', active, id)
  end
  local job = queue .. id
  redis.call('SET', job .. ':lock', token, 'PX', lock_ms)
  redis.call('HSET', job, 'processedOn', now)
  claimed[#claimed + 1] = { id, redis.call('HGET', job, 'data'), redis.call('HINCRBY', job, 'ats', 1) }
end
if #claimed == most and (redis.call('EXISTS', wait) == 1 or redis.call('EXISTS', prioritized) == 1) then
  redis.call('ZADD', queue .. 'marker', 0, '0')
end
return claimed
