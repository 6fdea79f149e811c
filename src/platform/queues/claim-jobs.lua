-- Claims waiting jobs in the order in which BullMQ's moveToActive claims one: jobs without a
-- priority, oldest first, then by priority. No event is written, since none is read. The marker that wakes
-- workers is set only if jobs still wait.
--
-- The token of a claim is also in the job (`by`): its lock ends, and says nothing of who claimed it last.
--
-- Jobs have the layout of BullMQ 6.7: `<prefix>:<queue>:<list, or job id>`.
--
-- KEYS  1 queue (without a list)
-- ARGV  1 token of the locks  2 lifetime of the locks, ms  3 now, unix ms; '' for Redis's own time  4 maximum number of jobs
--       5 highest score in `prioritized`: '+inf' for any; '-inf' to claim only jobs without a priority
-- Returns a list of {id, data, number of claims of this job, how often it stalled, its field body or false}, followed by
-- 'more' if further jobs wait
local queue = KEYS[1] .. ':'
local token, lock_ms, now, most = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local wait, active, prioritized, delayed = queue .. 'wait', queue .. 'active', queue .. 'prioritized', queue .. 'delayed'

if redis.call('HEXISTS', queue .. 'meta', 'paused') == 1 then return {} end
if now == '' then
  local time = redis.call('TIME')
  now = string.format('%d', time[1] * 1000 + math.floor(time[2] / 1000))
end

local ids = {}
local function activate(some)
  if #some > 0 then redis.call('LPUSH', active, unpack(some)) end
  for _, id in ipairs(some) do ids[#ids + 1] = id end
end
local function take()
  if most == 1 then
    ids[1] = redis.call('LMOVE', wait, active, 'RIGHT', 'LEFT') or nil
  else
    activate(redis.call('RPOP', wait, most - #ids) or {})
  end
  if #ids == most then return end
  local by_priority = redis.call('ZRANGEBYSCORE', prioritized, '-inf', ARGV[5], 'LIMIT', 0, most - #ids)
  if #by_priority > 0 then redis.call('ZREM', prioritized, unpack(by_priority)) end
  activate(by_priority)
end
-- Delayed jobs that are due wait from now on, as BullMQ has it; ours have no priority. Returns whether there are any.
local function move_due()
  local latest = string.format('%.0f', (tonumber(now) + 1) * 0x1000 - 1)
  local due = redis.call('ZRANGEBYSCORE', delayed, 0, latest, 'LIMIT', 0, 1000)
  for _, id in ipairs(due) do
    redis.call('ZREM', delayed, id)
    redis.call('LPUSH', wait, id)
    redis.call('HSET', queue .. id, 'delay', '0')
  end
  return #due > 0
end

take()
local are_left = redis.call('EXISTS', wait, prioritized, delayed) > 0
if are_left and move_due() and #ids < most then take() end

local claimed = {}
for index, id in ipairs(ids) do
  local job = queue .. id
  local data, claims, stalls, body = unpack(redis.call('HMGET', job, 'data', 'ats', 'stc', 'body'))
  claims = (tonumber(claims) or 0) + 1
  redis.call('SET', job .. ':lock', token, 'PX', lock_ms)
  redis.call('HSET', job, 'processedOn', now, 'ats', claims, 'by', token)
  claimed[index] = { id, data, claims, tonumber(stalls) or 0, body }
end
if are_left and #ids == most and redis.call('EXISTS', wait, prioritized) > 0 then
  redis.call('ZADD', queue .. 'marker', '0', '0')
  claimed[#claimed + 1] = 'more'
end
return claimed
