-- Updates one account's balance cache from the ledger and closes holds. Idempotent, and correct in any order.
--
-- A balance cache without `avail` is not loaded: Redis lost it, or never had it. Settlements and repairs do not load
-- it, and record the version that it must not be loaded below. Only admission loads it, once the holds of running
-- calls have been restored.
--
-- KEYS  1 avail  2 held  3 holds  4 expiry  5 ver  6 loading  7 account open  8 absent
-- ARGV  1 prefix of the account's Redis keys  2 ledger balance  3 ledger version
--       4 '' or, to load the balance cache, '*' or the epoch it must still be: the data may be lost during a
--       load. Then per settled call: hold id, amount charged
-- Returns {avail or false, held}
local avail, held, holds, expiry, ver, loading, account_open = unpack(KEYS)
local prefix, balance, version = ARGV[1], ARGV[2], ARGV[3]
local load = ARGV[4] == '*' or (ARGV[4] ~= '' and redis.call('GET', loading) == ARGV[4])

local ids, charged = {}, {}
for i = 5, #ARGV, 2 do
  ids[#ids + 1], charged[#charged + 1] = ARGV[i], ARGV[i + 1]
end
local released, closed, is_closed, of_keys, returns = {}, {}, {}, {}, {}
for i, hold in ipairs(#ids > 0 and redis.call('HMGET', holds, unpack(ids)) or {}) do
  local id = ids[i]
  -- The same call twice is one hold.
  if hold and not is_closed[id] then
    local amount, _, key, draws = parse_hold(hold)
    is_closed[id] = true
    closed[#closed + 1] = id
    released[#released + 1] = amount
    of_keys[key] = of_keys[key] or {}
    table.insert(of_keys[key], id)
    note_return(returns, prefix, key, draws, amount, charged[i])
  end
end
if #closed > 0 then
  change('DECRBY', held, released)
  return_allowances(returns)
  redis.call('HDEL', holds, unpack(closed))
  redis.call('ZREM', expiry, unpack(closed))
  redis.call('ZREM', account_open, unpack(closed))
  for key, of_key in pairs(of_keys) do redis.call('ZREM', prefix .. 'key:' .. key .. ':open', unpack(of_key)) end
end

local known = tonumber(redis.call('GET', ver) or '-1')
local newer = tonumber(version) > known
local loaded = redis.call('EXISTS', avail) == 1
-- Another process loaded it first. A newer balance arrives with the settlement that made it, which also closes its
-- hold; applied earlier, its charge would count twice for a moment.
if load and loaded then return { redis.call('GET', avail), redis.call('GET', held) or '0' } end
if newer or load then list_account(held) end
if newer then redis.call('SET', ver, version) end
if (loaded and newer) or (not loaded and load and tonumber(version) >= known) then
  redis.call('SET', avail, balance)
  redis.call('DECRBY', avail, redis.call('GET', held) or '0')
elseif loaded then
  -- An older message that arrived late: its posting is already in the balance.
  change('INCRBY', avail, released)
end
return { redis.call('GET', avail), redis.call('GET', held) or '0' }
