-- Holds money that is about to be taken back: as much of it as is free, so that running calls keep theirs.
-- A hold of the same id was left by an attempt that failed; it is given back first.
--
-- A balance cache without `avail` is not loaded. The hold is taken from the ledger balance less the open holds then,
-- and the process that loads the balance cache finds it among them.
--
-- KEYS  1 avail  2 held  3 holds  4 expiry
-- ARGV  1 hold id  2 amount wanted  3 hold lifetime ms  4 ledger balance
--       5 how the ids begin of holds that this one takes the place of, or ''
-- Returns the amount held, as text; '0' when nothing is free
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
  -- Of no key, and taken from no budget.
  open_hold(held, holds, expiry, id, redis.call('TIME')[1] * 1000 + lifetime, amount, 0, '', '')
end
return amount
