-- Completes jobs that leave nothing behind, as BullMQ's moveToFinished does one with removeOnComplete. No event is
-- written, since nobody reads them.
--
-- Jobs have the layout of BullMQ 6.7: `<prefix>:<queue>:<list, or job id>`.
--
-- KEYS  1 queue (without a list)
-- ARGV  1 token of the locks, then per job: id
-- Returns the ids of jobs that this token has no lock of: nothing was done to them
local queue = KEYS[1] .. ':'
local refused = {}
for at = 2, #ARGV do
  local id = ARGV[at]
  local job = queue .. id
  if redis.call('GET', job .. ':lock') ~= ARGV[1] then
    refused[#refused + 1] = id
  else
    redis.call('LREM', queue .. 'active', -1, id)
    redis.call('SREM', queue .. 'stalled', id)
    redis.call('DEL', job, job .. ':lock')
  end
end
return refused
