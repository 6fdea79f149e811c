-- Holds money that will be taken back: as much as is available, so that running calls keep their holds.
-- A hold of the same id is left over from a failed attempt; it is released first.
--
-- If the balance cache is not loaded (no `avail`), the hold is taken from the ledger balance less the open holds,
-- and the process that loads the balance cache includes it.
--
-- KEYS  1 avail  2 held  3 holds  4 expiry  5 absent
-- ARGV  1 hold id  2 amount wanted  3 hold lifetime ms  4 ledger balance
--       5 id prefix of the holds that this one replaces, or ''
-- Returns the amount held, as text; '0' when nothing is available
local avail, held, holds, expiry = unpack(KEYS)
local id, wanted, lifetime, balance, replaced = unpack(ARGV)

local loaded = redis.call('EXISTS', avail) == 1
local function give_back(hold)
  local left = read_hold(holds, hold)
  if not left then return end
  close_hold(held, holds, expiry, hold, left)
  if loaded then redis.call('INCRBY', avail, left) end
end
give_back(id)
if replaced ~= '' then
  for _, hold in ipairs(redis.call('HKEYS', holds)) do
    if string.sub(hold, 1, #replaced) == replaced then give_back(hold) end
  end
end
if not loaded then
  redis.call('SET', avail, balance)
  redis.call('DECRBY', avail, redis.call('GET', held) or '0')
end
local free = redis.call('GET', avail)
local amount = wanted
if tonumber(free) <= 0 then
  amount = '0'
elseif redis.call('DECRBY', avail, wanted) < 0 then
  redis.call('SET', avail, '0')
  amount = free
end
if not loaded then redis.call('DEL', avail) end
if amount ~= '0' then
  -- Belongs to no key and is taken from no budget.
  open_hold(held, holds, expiry, id, redis.call('TIME')[1] * 1000 + lifetime, amount, 0, '', '')
end
return amount
