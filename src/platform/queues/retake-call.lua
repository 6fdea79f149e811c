-- Renews the claim of a worker whose lock has lapsed while nobody else claimed the call: the worker was cut off
-- from Redis, or Redis stood still, and the call runs on. Right also after the stalled check put the job back.
--
-- KEYS  1 job hash  2 lock  3 active  4 wait  5 stalled  6 prioritized
-- ARGV  1 job id  2 token  3 how long the lock stands, ms  4 the number of the worker's claim of this job
-- Returns 1 when the claim stands again, 0 when another worker has the call, or nobody
local id = ARGV[1]
local claims = tonumber(redis.call('HGET', KEYS[1], 'ats'))
local number = tonumber(ARGV[4])
local holder = redis.call('GET', KEYS[2])
-- This worker may have claimed the call again, and hear of it next.
local claimedAgain = claims == number + 1 and holder == ARGV[2]
if claims ~= number and not claimedAgain then return 0 end
if holder and holder ~= ARGV[2] then return 0 end
if not redis.call('LPOS', KEYS[3], id) then
  if redis.call('LREM', KEYS[4], -1, id) + redis.call('ZREM', KEYS[6], id) == 0 then return 0 end
  redis.call('LPUSH', KEYS[3], id)
end
redis.call('SET', KEYS[2], ARGV[2], 'PX', ARGV[3])
redis.call('SREM', KEYS[5], id)
return 1
