-- Completes jobs and removes them, as BullMQ's moveToFinished does for one job with removeOnComplete. No event is
-- written, since none is read.
--
-- The `bytes` of a job are subtracted from the backlog of its queue, which is reset to zero when no job is left.
--
-- Jobs have the layout of BullMQ 6.7: `<prefix>:<queue>:<list, or job id>`.
--
-- KEYS  1 queue (without a list)
-- ARGV  1 token of the locks, then per job: id
-- Returns the ids of the jobs that this token does not lock; they are unchanged
local queue = KEYS[1] .. ':'
local locks = {}
for at = 2, #ARGV do locks[#locks + 1] = queue .. ARGV[at] .. ':lock' end
local refused, done, gone = {}, {}, {}
local bytes = 0
for index, holder in ipairs(redis.call('MGET', unpack(locks))) do
  local id = ARGV[index + 1]
  if holder ~= ARGV[1] then
    refused[#refused + 1] = id
  else
    redis.call('LREM', queue .. 'active', -1, id)
    bytes = bytes + (redis.call('HGET', queue .. id, 'bytes') or 0)
    done[#done + 1] = id
    gone[#gone + 1] = queue .. id
    gone[#gone + 1] = locks[index]
  end
end
if #done > 0 then
  redis.call('SREM', queue .. 'stalled', unpack(done))
  redis.call('DEL', unpack(gone))
end
if bytes > 0 then
  local is_empty = redis.call('EXISTS', queue .. 'wait', queue .. 'active', queue .. 'paused') == 0
  if is_empty or redis.call('DECRBY', queue .. 'bytes', bytes) < 0 then redis.call('DEL', queue .. 'bytes') end
end
return refused
