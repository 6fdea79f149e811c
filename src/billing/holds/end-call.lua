-- Ends one call, by the function of holds.lua.
--
-- KEYS  1 avail  2 held  3 holds  4 key open  5 account open  6 absent
-- ARGV  1 prefix of the account's Redis keys  2 hold id  3 amount charged
-- Returns 1 when the hold shrank, else 0
local avail, held, holds, open, account_open = unpack(KEYS)
local prefix, id, charge = unpack(ARGV)
return end_calls(avail, held, holds, account_open, prefix, { { id = id, charge = charge, open = open } })
