-- The open holds of an account; every script over them begins with this file. A hold is a field of the hash `holds`:
-- hold id → 'amount:completion limit:key id:allowance period or empty'. `held` is the sum of the amounts, `expiry` has
-- the deadlines. Nothing else writes or parses a hold, except for `parseHold` in admission.ts.
--
-- Amounts are 64-bit integers as text. Lua numbers lose digits above 2^53, so INCRBY and DECRBY do the sums.

-- Returns amount, completion limit, key id and allowance period.
local function parse_hold(hold)
  return string.match(hold, '^(%d+):(%d+):([^:]*):([^:]*)$')
end

-- As parse_hold; nothing where there is no such hold.
local function read_hold(holds, id)
  local hold = redis.call('HGET', holds, id)
  if hold then return parse_hold(hold) end
end

local function write_hold(holds, id, amount, limit, key, period)
  redis.call('HSET', holds, id, amount .. ':' .. limit .. ':' .. key .. ':' .. period)
end

local function open_hold(held, holds, expiry, id, deadline, amount, limit, key, period)
  redis.call('INCRBY', held, amount)
  write_hold(holds, id, amount, limit, key, period)
  redis.call('ZADD', expiry, deadline, id)
end

local function close_hold(held, holds, expiry, id, amount)
  redis.call('DECRBY', held, amount)
  redis.call('HDEL', holds, id)
  redis.call('ZREM', expiry, id)
end

-- Gives a key's allowance back what was held from it and not charged.
local function return_allowance(prefix, key, period, amount, charge)
  local left = prefix .. key .. ':left:' .. period
  if period == '' or redis.call('EXISTS', left) == 0 then return end
  redis.call('INCRBY', left, amount)
  redis.call('DECRBY', left, charge)
end

-- Ends a call: frees its slots among the open calls of its key and account, and shrinks its hold to what it is charged.
-- What was held beyond that can be spent at once; settlement closes the rest of the hold. Idempotent, never raises a
-- hold, and changes no amount where the hold is gone. True when the hold shrank.
--
-- open, account_open: open calls of the key and of the account; prefix: of the account's API-key keys
local function end_call(avail, held, holds, open, account_open, prefix, id, charge)
  redis.call('ZREM', open, id)
  redis.call('ZREM', account_open, id)
  local amount, limit, key, period = read_hold(holds, id)
  if not amount then return false end
  -- Neither has leading zeros, so the longer one is the greater.
  if #charge > #amount or (#charge == #amount and charge >= amount) then return false end

  write_hold(holds, id, charge, limit, key, period)
  redis.call('DECRBY', held, amount)
  redis.call('INCRBY', held, charge)
  if redis.call('EXISTS', avail) == 1 then
    redis.call('INCRBY', avail, amount)
    redis.call('DECRBY', avail, charge)
  end
  return_allowance(prefix, key, period, amount, charge)
  return true
end

