-- Rebuilds one account's balance cache from the ledger and its open holds, regardless of its content.
--
-- Refuses a ledger balance older than that of the balance cache, since a newer one has been applied since;
-- unless forced, for a ledger that itself went back in time.
--
-- KEYS  1 record of the account  2 absent
-- ARGV  1 ledger balance  2 ledger version  3 '1' to force
-- Returns 1 when rebuilt, 0 when refused
local account = open_whole(KEYS[1])
local known = account.fields.ver
if ARGV[3] ~= '1' and known and tonumber(known) > tonumber(ARGV[2]) then return 0 end

local held = sum_of('0', amounts_of(account), 1)
list_account(account)
change(account, 'held', held)
change(account, 'avail', minus(ARGV[1], held))
change(account, 'ver', ARGV[2])
save(account)
return 1
