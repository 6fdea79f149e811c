-- Loads what a key may still spend in a period: its limit, less what PostgreSQL says it spent, less its open
-- holds. Right also while calls settle: the holds were listed before PostgreSQL was read, and whatever
-- happened to them since either cannot matter or is noticed here, and the caller reads again.
--
-- A listed hold with a charge was settled when PostgreSQL was read, so its charge is among what was spent; if
-- it is still open, its release will take the charge off once more, and that is made up for here. A listed
-- hold without one was not settled yet; if it is closed by now, its charge is nowhere in the sum: read again.
-- A hold that was not listed opened since: read again.
--
-- Amounts are 64-bit integers as text. Lua numbers lose digits above 2^53, so INCRBY and DECRBY do the sums.
--
-- KEYS  1 left  2 holds
-- ARGV  1 key id  2 period  3 limit  4 spent  5 when the figure expires, unix ms, or ''
--       then per hold of the key in the period: hold id, its charge or '' when it was not settled
-- Returns 'loaded', 'known' when it was there already, or 'again'
local left, holds = KEYS[1], KEYS[2]
local key, period, limit, spent, expires_at = unpack(ARGV, 1, 5)
if redis.call('EXISTS', left) == 1 then return 'known' end

local charges = {}
for i = 6, #ARGV, 2 do
  charges[ARGV[i]] = ARGV[i + 1]
  if ARGV[i + 1] == '' and redis.call('HEXISTS', holds, ARGV[i]) == 0 then return 'again' end
end
local open = redis.call('HGETALL', holds)
local amounts = {}
for i = 1, #open, 2 do
  local amount, _, holder, of = string.match(open[i + 1], '^(%d+):(%d+):([^:]*):([^:]*)$')
  if holder == key and of == period then
    if not charges[open[i]] then return 'again' end
    amounts[open[i]] = amount
  end
end

redis.call('SET', left, limit)
redis.call('DECRBY', left, spent)
for id, amount in pairs(amounts) do
  redis.call('DECRBY', left, amount)
  if charges[id] ~= '' then redis.call('INCRBY', left, charges[id]) end
end
if expires_at ~= '' then redis.call('PEXPIREAT', left, expires_at) end
return 'loaded'
