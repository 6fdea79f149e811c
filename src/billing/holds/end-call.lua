-- Ends one call, by the function of holds.lua.
--
-- KEYS  1 record of the account  2 absent
-- ARGV  1 hold id  2 amount charged  3 key id
-- Returns 1 when the hold shrank, else 0
local id, charge, key = unpack(ARGV)
local account = open_record(KEYS[1], { 'avail', 'use', 'use:' .. key, id })
local shrank = end_call(account, id, charge)
save(account)
return shrank and 1 or 0
