-- Ends one call, by the function of holds.lua.
--
-- KEYS  1 avail  2 held  3 holds  4 key open  5 account open
-- ARGV  1 prefix of the account's API-key keys  2 hold id  3 amount charged
-- Returns 1 when the hold shrank, else 0
return end_call(KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], ARGV[1], ARGV[2], ARGV[3]) and 1 or 0
