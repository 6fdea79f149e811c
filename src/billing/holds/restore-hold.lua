-- Restores the hold of a running call in a Redis that lost it. It is never refused, because the call
-- was admitted. Changes nothing if the hold exists.
--
-- KEYS  1 record of the account  2 absent
-- ARGV  1 hold id  2 amount  3 completion limit  4 key id  5 draws  6 deadline, unix ms
--       7 '1' when the call still takes a place among the open calls of its key and account
-- Returns 1 when it was restored, 0 when it exists
local id, amount, limit, key, draws, deadline, is_open = unpack(ARGV)
local account = open_record(KEYS[1], { 'avail', 'listed', 'due', 'use', 'use:' .. key, id })
if account.fields[id] then return 0 end
open_hold(account, id, deadline, amount, limit, key, draws, is_open == '1' and '0' or '')
if is_open == '1' then count_place(account, key, 1, 0) end
if account.fields.avail then change(account, 'avail', minus(account.fields.avail, amount)) end
save(account)
-- The call may be settled and its charge included in an allowance loaded since, so the allowance is computed again.
for draw in string.gmatch(draws, '[^,]+') do redis.call('DEL', allowance_of(account.prefix, key, draw)) end
return 1
