-- Holds money that is about to be taken back: as much of it as is free, so that calls that run keep theirs.
-- A hold of the same id was left by an attempt that failed; it is given back first.
--
-- A gate without `avail` is not loaded. The hold is taken from the ledger balance less the open holds then, and
-- whoever loads the gate finds it among them. Amounts are 64-bit integers as text; INCRBY and DECRBY do the sums.
--
-- KEYS  1 avail  2 held  3 holds  4 expiry
-- ARGV  1 hold id  2 amount wanted  3 deadline, unix ms  4 ledger balance
-- Returns the amount held, as text; '0' when nothing is free
local avail, held, holds, expiry = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local id, wanted, deadline, balance = ARGV[1], ARGV[2], ARGV[3], ARGV[4]

local loaded = redis.call('EXISTS', avail) == 1
local left = redis.call('HGET', holds, id)
if left then
  local amount = string.match(left, '^%d+')
  redis.call('DECRBY', held, amount)
  redis.call('HDEL', holds, id)
  redis.call('ZREM', expiry, id)
  if loaded then redis.call('INCRBY', avail, amount) end
end
if not loaded then
  redis.call('SET', avail, balance)
  redis.call('DECRBY', avail, redis.call('GET', held) or '0')
end
local free = redis.call('GET', avail)
local amount = wanted
if tonumber(free) <= 0 then
  amount = '0'
elseif redis.call('DECRBY', avail, wanted) < 0 then
  redis.call('SET', avail, '0')
  amount = free
end
if not loaded then redis.call('DEL', avail) end
if amount ~= '0' then
  redis.call('INCRBY', held, amount)
  -- As admission writes holds; of no key and no period.
  redis.call('HSET', holds, id, amount .. ':0::')
  redis.call('ZADD', expiry, deadline, id)
end
return amount
