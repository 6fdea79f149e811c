-- What a key may still spend in a period: its limit, less what PostgreSQL says it spent, less its open holds.
-- Loads it where there is none, or computes what it should be. Right also while calls settle: the holds
-- were listed before PostgreSQL was read, and whatever happened to them since either cannot matter or is
-- noticed here, and the caller reads again.
--
-- A listed hold with a charge was settled when PostgreSQL was read, so its charge is among what was spent; if
-- it is still open, its release will take the charge off once more, and that is made up for here. A listed
-- hold without one was not settled yet; if it is closed by now, its charge is nowhere in the sum: read again.
-- A hold that was not listed opened since: read again.
--
-- KEYS  1 left  2 holds  3 scratch, empty before and after
-- ARGV  1 'load' or 'check'  2 key id  3 period  4 limit  5 spent  6 when it expires, unix ms, or ''
--       then per hold of the key in the period: hold id, its charge or '' when it was not settled
-- Returns {'again'}, or {'known', left, what it should be or false when loading}
local left, holds, scratch = KEYS[1], KEYS[2], KEYS[3]
local mode, key, period, limit, spent, expires_at = unpack(ARGV, 1, 6)
local known = redis.call('GET', left)
if mode == 'load' and known then return { 'known', known, false } end

local charges = {}
for i = 7, #ARGV, 2 do
  charges[ARGV[i]] = ARGV[i + 1]
  if ARGV[i + 1] == '' and redis.call('HEXISTS', holds, ARGV[i]) == 0 then return { 'again' } end
end
local open = redis.call('HGETALL', holds)
local amounts = {}
for i = 1, #open, 2 do
  local amount, _, holder, of = parse_hold(open[i + 1])
  if holder == key and of == period then
    if not charges[open[i]] then return { 'again' } end
    amounts[open[i]] = amount
  end
end

local sum = mode == 'load' and left or scratch
redis.call('SET', sum, limit)
redis.call('DECRBY', sum, spent)
for id, amount in pairs(amounts) do
  redis.call('DECRBY', sum, amount)
  if charges[id] ~= '' then redis.call('INCRBY', sum, charges[id]) end
end
local computed = redis.call('GET', sum)
if mode == 'check' then
  redis.call('DEL', scratch)
  return { 'known', known, computed }
end
if expires_at ~= '' then redis.call('PEXPIREAT', left, expires_at) end
return { 'known', computed, false }
