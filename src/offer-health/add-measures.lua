-- Adds to the counts of one slot of measurements. New counters beyond the maximum are dropped.
--
-- KEYS  1 slot (hash)
-- ARGV  1 lifetime ms  2 maximum number of counters  3… field, count to add, alternating
-- Returns the number of dropped counters.
local slot, lifetime, most = KEYS[1], ARGV[1], tonumber(ARGV[2])
local room = most - redis.call('HLEN', slot)
local dropped = 0
for i = 3, #ARGV, 2 do
  local field, count = ARGV[i], ARGV[i + 1]
  if room > 0 then
    if tostring(redis.call('HINCRBY', slot, field, count)) == count then room = room - 1 end
  elseif redis.call('HEXISTS', slot, field) == 1 then
    redis.call('HINCRBY', slot, field, count)
  else
    dropped = dropped + 1
  end
end
redis.call('PEXPIRE', slot, lifetime)
return dropped
