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
-- KEYS  1 allowance  2 record of the account  3 absent
-- ARGV  1 'load' or 'check'  2 draw of the budget in the period, see holds.lua
--       3 budget  4 spent  5 when it expires, unix ms; '' for one without a period, see KEPT_MS
--       then per hold that counts: hold id, its charge or '' if it was not settled
-- Returns {'again'}, or {'known', left, what it should be or false when loading}
-- An allowance without a period is loaded again after this time, so those of keys that are not used any more are gone by then.
local KEPT_MS = 30 * 24 * 60 * 60 * 1000

local left = KEYS[1]
local mode, draw, budget, spent, expires_at = unpack(ARGV, 1, 5)
local known = redis.call('GET', left)
if mode == 'load' and known then return { 'known', known, false } end

local account = open_whole(KEYS[2])
local charges = {}
for i = 6, #ARGV, 2 do
  charges[ARGV[i]] = ARGV[i + 1]
  if ARGV[i + 1] == '' and not account.fields[ARGV[i]] then return { 'again' } end
end

-- The scope of a draw: a key, a member, an account, or the letter of a kind of group.
local function scope_of(one)
  local holder = string.match(one, '^([^@]*)@')
  return not holder and 'key' or holder == '' and 'account' or string.match(holder, '^(%a)%.') or 'member'
end
-- Whether the draws of a hold contain this one; and the draws with it in place of another of its scope.
local function with_draw(key, draws)
  local others = {}
  for one in string.gmatch(draws, '[^,]+') do
    if allowance_of(account.prefix, key, one) == left then return true, draws end
    if scope_of(one) ~= scope_of(draw) then others[#others + 1] = one end
  end
  others[#others + 1] = draw
  return false, table.concat(others, ',')
end

local taken, returned, adopted = { spent }, {}, {}
for id, value in pairs(account.fields) do
  local amount, limit, key, draws, deadline, bytes = parse_hold(value or '')
  if amount then
    local is_drawn, draws_with = with_draw(key, draws)
    if is_drawn and not charges[id] then return { 'again' } end
    if charges[id] then
      taken[#taken + 1] = amount
      if charges[id] ~= '' then returned[#returned + 1] = charges[id] end
      if not is_drawn then adopted[id] = hold_text(amount, limit, key, draws_with, deadline, bytes) end
    end
  end
end

local computed = sum_of(sum_of(budget, taken, -1), returned, 1)
if mode == 'check' then return { 'known', known, computed } end
for id, hold in pairs(adopted) do change(account, id, hold) end
save(account)
if expires_at ~= '' then
  redis.call('SET', left, computed)
  redis.call('PEXPIREAT', left, expires_at)
else
  redis.call('SET', left, computed, 'PX', KEPT_MS)
end
return { 'known', computed, false }
