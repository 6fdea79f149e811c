-- Ends a call in the gate: frees its slots among the open calls of its key and account, and shrinks its hold to what
-- it is charged. What was held beyond that can be spent at once; settlement closes the rest of the hold. Idempotent,
-- never raises a hold, and changes no amount where the hold is gone. True when the hold shrank.
--
-- Amounts are 64-bit integers as text. Lua numbers lose digits above 2^53, so INCRBY and DECRBY do the sums.
--
-- keys: avail, held, holds, open calls of the key, open calls of the account; prefix: of the account's API-key keys
local function end_in_gate(avail, held, holds, open, account_open, prefix, id, charge)
  redis.call('ZREM', open, id)
  redis.call('ZREM', account_open, id)
  local hold = redis.call('HGET', holds, id)
  if not hold then return false end
  local amount, rest, key, period = string.match(hold, '^(%d+)(:%d+:([^:]*):([^:]*))$')
  -- Neither has leading zeros, so the longer one is the greater.
  if #charge > #amount or (#charge == #amount and charge >= amount) then return false end

  local function give_back(sum)
    redis.call('INCRBY', sum, amount)
    redis.call('DECRBY', sum, charge)
  end
  redis.call('HSET', holds, id, charge .. rest)
  redis.call('DECRBY', held, amount)
  redis.call('INCRBY', held, charge)
  if redis.call('EXISTS', avail) == 1 then give_back(avail) end
  local left = prefix .. key .. ':left:' .. period
  if period ~= '' and redis.call('EXISTS', left) == 1 then give_back(left) end
  return true
end

