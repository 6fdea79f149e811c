-- Computes the allowance of a budget in a period: the budget, less the spending in PostgreSQL, less
-- the open holds. Loads it if there is none. Correct while calls settle: the holds
-- were listed before PostgreSQL was read, and a later change of them either has no effect or is
-- detected here, and the caller reads again.
--
-- A listed hold with a charge was settled when PostgreSQL was read, so the spending includes its charge. If
-- it is still open, its release will subtract the charge once more, which is compensated here. A listed
-- hold without a charge was not settled; if it is closed by now, the sum lacks its charge: read again.
-- A hold of this budget that was not listed was opened since: read again.
--
-- A listed hold of another draw was taken before this budget existed, or before its period changed. It is rewritten
-- as taken from this budget, and returns its rest to it.
--
-- KEYS  1 allowance  2 holds  3 scratch, empty before and after
-- ARGV  1 'load' or 'check'  2 prefix of the account's Redis keys  3 draw of the budget in the period, see holds.lua
--       4 budget  5 spent  6 when it expires, unix ms; '' for one without a period, see KEPT_MS
--       then per hold that counts: hold id, its charge or '' if it was not settled
-- Returns {'again'}, or {'known', left, what it should be or false when loading}
-- An allowance without a period is loaded again after this time, so those of keys that are not used any more are gone by then.
local KEPT_MS = 30 * 24 * 60 * 60 * 1000

local left, holds, scratch = KEYS[1], KEYS[2], KEYS[3]
local mode, prefix, draw, budget, spent, expires_at = unpack(ARGV, 1, 6)
local known = redis.call('GET', left)
if mode == 'load' and known then return { 'known', known, false } end

local charges = {}
for i = 7, #ARGV, 2 do
  charges[ARGV[i]] = ARGV[i + 1]
  if ARGV[i + 1] == '' and redis.call('HEXISTS', holds, ARGV[i]) == 0 then return { 'again' } end
end

-- The scope of a draw: a key, a member or an account.
local function scope_of(one)
  local member = string.match(one, '^([^@]*)@')
  return not member and 'key' or member == '' and 'account' or 'member'
end
-- Whether the draws of a hold contain this one; and the draws with it in place of another of its scope.
local function with_draw(key, draws)
  local others = {}
  for one in string.gmatch(draws, '[^,]+') do
    if allowance_of(prefix, key, one) == left then return true, draws end
    if scope_of(one) ~= scope_of(draw) then others[#others + 1] = one end
  end
  others[#others + 1] = draw
  return false, table.concat(others, ',')
end

local open = redis.call('HGETALL', holds)
local amounts, adopted = {}, {}
for i = 1, #open, 2 do
  local id = open[i]
  local amount, limit, key, draws = parse_hold(open[i + 1])
  local is_drawn, draws_with = with_draw(key, draws)
  if is_drawn and not charges[id] then return { 'again' } end
  if charges[id] then
    amounts[id] = amount
    if not is_drawn then
      adopted[#adopted + 1] = id
      adopted[#adopted + 1] = hold_text(amount, limit, key, draws_with)
    end
  end
end

local sum = mode == 'load' and left or scratch
redis.call('SET', sum, budget)
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
for i = 1, #adopted, 2 do redis.call('HSET', holds, adopted[i], adopted[i + 1]) end
if expires_at ~= '' then redis.call('PEXPIREAT', left, expires_at) else redis.call('PEXPIRE', left, KEPT_MS) end
return { 'known', computed, false }
