-- Restores the hold of a running call in a Redis that lost it. It is never refused, because the call
-- was admitted. Changes nothing if the hold exists.
--
-- KEYS  1 avail  2 held  3 holds  4 expiry  5 key open  6 account open  7 absent
-- ARGV  1 hold id  2 amount  3 completion limit  4 key id  5 draws  6 deadline, unix ms
--       7 '1' when the call still takes a slot among the open calls of its key and account
--       8 prefix of the account's Redis keys
-- Returns 1 when it was restored, 0 when it exists
local avail, held, holds, expiry, open, account_open = unpack(KEYS)
local id, amount, limit, key, draws, deadline, is_open, prefix = unpack(ARGV)
if not open_hold(held, holds, expiry, id, deadline, amount, limit, key, draws) then return 0 end
if is_open == '1' then
  for _, calls in ipairs({ open, account_open }) do
    redis.call('ZADD', calls, deadline, id)
    redis.call('PERSIST', calls)
  end
end
if redis.call('EXISTS', avail) == 1 then redis.call('DECRBY', avail, amount) end
-- The call may be settled and its charge included in an allowance loaded since, so the allowance is computed again.
for draw in string.gmatch(draws, '[^,]+') do redis.call('DEL', allowance_of(prefix, key, draw)) end
return 1
