-- Rebuilds one account's balance cache from the ledger and its open holds, regardless of its content.
--
-- Refuses a ledger balance older than that of the balance cache, since a newer one has been applied since;
-- unless forced, for a ledger that itself went back in time.
--
-- KEYS  1 avail  2 held  3 holds  4 ver
-- ARGV  1 ledger balance  2 ledger version  3 '1' to force
-- Returns 1 when rebuilt, 0 when refused
local avail, held, holds, ver = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local known = redis.call('GET', ver)
if ARGV[3] ~= '1' and known and tonumber(known) > tonumber(ARGV[2]) then return 0 end

list_account(held)
redis.call('SET', held, '0')
for _, hold in ipairs(redis.call('HVALS', holds)) do
  redis.call('INCRBY', held, (parse_hold(hold)))
end
redis.call('SET', avail, ARGV[1])
redis.call('DECRBY', avail, redis.call('GET', held))
redis.call('SET', ver, ARGV[2])
return 1
