-- Removes the job of a call from the dispatch queue, but only while it waits for its first claim. BullMQ's
-- `remove` also deletes an active job whose lock has expired, and returns 1 for a job that does not exist.
--
-- A job that was claimed once is never withdrawn, because a provider may have received its request. `ats` counts
-- claims. A job named `revived` belongs to a running call (see requeueCall in queues.ts); only its
-- worker may remove it.
--
-- The longest waiting job is at the tail of the list, where LREM starts.
--
-- KEYS  1 job hash  2 wait  3 paused  4 prioritized  5 delayed
-- ARGV  1 job id  2 '1' to remove a revived job too, also while it is delayed
-- Returns 'withdrawn', 'missing' (no such job), 'claimed' (a worker has it or had it) or 'delayed'
local id, takes_revived = ARGV[1], ARGV[2] == '1'
local name, claims = unpack(redis.call('HMGET', KEYS[1], 'name', 'ats'))
if not name then return 'missing' end
if claims then return 'claimed' end
if redis.call('ZSCORE', KEYS[5], id) then
  if not takes_revived then return 'delayed' end
  redis.call('ZREM', KEYS[5], id)
else
  if name == 'revived' and not takes_revived then return 'claimed' end
  local removed = redis.call('LREM', KEYS[2], -1, id)
  if removed == 0 then removed = redis.call('LREM', KEYS[3], -1, id) end
  if removed == 0 then removed = redis.call('ZREM', KEYS[4], id) end
  if removed == 0 then return 'claimed' end
end
redis.call('DEL', KEYS[1])
return 'withdrawn'
