-- Enqueues a call whose body is bytes, once, as BullMQ 6.7 enqueues a job, without an event.
--
-- KEYS  1 queue (without a list)
-- ARGV  1 id  2 data of its job, JSON  3 options of the job, JSON  4 now, unix ms  5 priority  6 sealed body
-- Returns 1, or 0 if there is such a job
local queue, id, priority = KEYS[1] .. ':', ARGV[1], tonumber(ARGV[5])

if redis.call('EXISTS', queue .. id) == 1 then return 0 end
redis.call('HSET', queue .. id, 'name', 'call', 'data', ARGV[2], 'opts', ARGV[3], 'timestamp', ARGV[4], 'delay', 0,
  'priority', priority, 'body', ARGV[6])
if priority == 0 then
  redis.call('LPUSH', queue .. 'wait', id)
else
  local order = redis.call('INCR', queue .. 'pc') % 0x100000000
  redis.call('ZADD', queue .. 'prioritized', priority * 0x100000000 + order, id)
end
if redis.call('HEXISTS', queue .. 'meta', 'paused') == 0 then redis.call('ZADD', queue .. 'marker', 0, '0') end
return 1
