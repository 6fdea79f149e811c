-- Restores a worker's claim whose lock expired, if no other worker claimed the call since: the worker was disconnected from
-- Redis, or Redis was blocked, or Redis lost its last writes, including the claim. The call continues. Also correct
-- after the stalled check returned the job to the queue.
--
-- KEYS  1 job hash  2 lock  3 active  4 wait  5 stalled  6 prioritized  7 mark of the admitted call (see admit.lua)
-- ARGV  1 job id  2 token  3 lifetime of the lock, ms  4 the number of the worker's claim of this job
-- Returns the number of the restored claim; 0 when another worker has the call, or had it since and may have
-- finished it; -1 when there is no job and no mark that it was admitted
local id, token, number = ARGV[1], ARGV[2], tonumber(ARGV[4])
local name, claims = unpack(redis.call('HMGET', KEYS[1], 'name', 'ats'))
if not name then return redis.call('EXISTS', KEYS[7]) - 1 end
claims = tonumber(claims) or 0
local holder = redis.call('GET', KEYS[2])
if holder and holder ~= token then return 0 end
-- This worker may have claimed the call again without having received the response yet.
local claimed_again = claims == number + 1 and holder == token
if claims > number and not claimed_again then return 0 end
if not redis.call('LPOS', KEYS[3], id) then
  if redis.call('LREM', KEYS[4], -1, id) + redis.call('ZREM', KEYS[6], id) == 0 then return 0 end
  redis.call('LPUSH', KEYS[3], id)
end
claims = math.max(claims, number)
redis.call('HSET', KEYS[1], 'ats', claims, 'by', token)
redis.call('SET', KEYS[2], token, 'PX', ARGV[3])
redis.call('SREM', KEYS[5], id)
return claims
