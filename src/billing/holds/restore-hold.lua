-- Takes the hold of a call that runs already, in a Redis that has lost it. Nothing can refuse it: the call
-- was admitted. Changes nothing when the hold is there.
--
-- KEYS  1 avail  2 held  3 holds  4 expiry  5 key open  6 key left  7 account open
-- ARGV  1 hold id  2 amount  3 completion limit  4 key id  5 allowance period or ''  6 deadline, unix ms
--       7 '1' when the call still takes a slot among the open calls of its key and account
-- Returns 1 when it was taken, 0 when it was there
local avail, held, holds, expiry, open, left, account_open = unpack(KEYS)
local id, amount, limit, key, period, deadline, is_open = unpack(ARGV)
if not open_hold(held, holds, expiry, id, deadline, amount, limit, key, period) then return 0 end
if is_open == '1' then
  for _, calls in ipairs({ open, account_open }) do
    redis.call('ZADD', calls, deadline, id)
    redis.call('PERSIST', calls)
  end
end
if redis.call('EXISTS', avail) == 1 then redis.call('DECRBY', avail, amount) end
if period ~= '' and redis.call('EXISTS', left) == 1 then redis.call('DECRBY', left, amount) end
return 1
