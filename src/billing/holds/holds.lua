-- The open holds of an account; this file is prepended to every script over them. A hold is a field of the hash `holds`:
-- hold id → 'amount:completion limit:key id:draws'. `held` is the sum of the amounts, `expiry` has the deadlines.
-- Only these functions and `parseHold` in admission.ts write or parse a hold.
--
-- Draws are the budgets that the hold was taken from, separated by commas: '<period>' of its key, '<member>@<period>' of
-- the member who created the key, '@<period>' of the account. Each has its remaining amount, an allowance.
--
-- Amounts are 64-bit integers as text. Lua numbers lose digits above 2^53, so INCRBY and DECRBY do the arithmetic.

-- Returns amount, completion limit, key id and draws.
local function parse_hold(hold)
  return string.match(hold, '^(%d+):(%d+):([^:]*):([^:]*)$')
end

-- As parse_hold; nil if there is no such hold.
local function read_hold(holds, id)
  local hold = redis.call('HGET', holds, id)
  if hold then return parse_hold(hold) end
end

local function hold_text(amount, limit, key, draws)
  return amount .. ':' .. limit .. ':' .. key .. ':' .. draws
end

-- Lists the account that `held` belongs to, for maintenance: its balance cache changed since it was compared with the
-- ledger. The balance cache of an account that is not listed may expire (see unlist.lua), and that of a listed one may not.
local function list_account(held)
  local tag, account = string.match(held, '^(.-:)([^:]+):held$')
  if redis.call('SADD', tag .. 'accounts', account) == 0 then return end
  for _, key in ipairs({ 'avail', 'held', 'ver' }) do redis.call('PERSIST', tag .. account .. ':' .. key) end
end

-- Returns false, and changes nothing, if the hold exists. An account with an open hold is listed.
local function open_hold(held, holds, expiry, id, deadline, amount, limit, key, draws)
  if redis.call('ZADD', expiry, 'NX', deadline, id) == 0 then return false end
  -- An account that is not listed holds nothing, so the first hold lists it.
  if redis.call('INCRBY', held, amount) == tonumber(amount) then list_account(held) end
  redis.call('HSET', holds, id, hold_text(amount, limit, key, draws))
  return true
end

local function close_hold(held, holds, expiry, id, amount)
  redis.call('DECRBY', held, amount)
  redis.call('HDEL', holds, id)
  redis.call('ZREM', expiry, id)
end

-- Adds signed changes to an amount (INCRBY) or subtracts them (DECRBY), with as few commands as stay exact.
local EXACT_CHARACTERS, EXACT_SUM = 15, 2 ^ 52
local function change(command, key, changes)
  local sum = 0
  local function write()
    if sum ~= 0 then redis.call(command, key, string.format('%.0f', sum)) end
    sum = 0
  end
  for _, by in ipairs(changes) do
    if #by > EXACT_CHARACTERS then redis.call(command, key, by) else sum = sum + tonumber(by) end
    if math.abs(sum) > EXACT_SUM then write() end
  end
  write()
end

-- The allowance key of one draw of a hold; prefix: of the account's Redis keys.
local function allowance_of(prefix, key, draw)
  local at = string.find(draw, '@', 1, true)
  if not at then return prefix .. 'key:' .. key .. ':left:' .. draw end
  local member, period = string.sub(draw, 1, at - 1), string.sub(draw, at + 1)
  if member == '' then return prefix .. 'left:' .. period end
  return prefix .. 'member:' .. member .. ':left:' .. period
end

-- Records what a hold returns to its allowances: the part that was held and not charged.
--
-- returns: changes by allowance; prefix: of the account's Redis keys
local function note_return(returns, prefix, key, draws, amount, charge)
  if draws == '' then return end
  for draw in string.gmatch(draws, '[^,]+') do
    local left = allowance_of(prefix, key, draw)
    returns[left] = returns[left] or {}
    table.insert(returns[left], amount)
    table.insert(returns[left], '-' .. charge)
  end
end

-- Applies the recorded changes. An allowance that is not loaded stays unloaded.
local function return_allowances(returns)
  for left, changes in pairs(returns) do
    if redis.call('EXISTS', left) == 1 then change('INCRBY', left, changes) end
  end
end

-- Ends calls of one account: releases their slots among the open calls of their keys and account, and shrinks their
-- holds to the charge. The rest can be spent at once; settlement closes the hold.
-- Idempotent, never raises a hold, and changes no amount if the hold is gone. Returns how many holds shrank.
--
-- account_open: open calls of the account; prefix: of the account's Redis keys
-- calls: the id, the charge and the open calls of the key of each
local function end_calls(avail, held, holds, account_open, prefix, calls)
  local ids, of_keys = {}, {}
  for _, call in ipairs(calls) do
    ids[#ids + 1] = call.id
    of_keys[call.open] = of_keys[call.open] or {}
    table.insert(of_keys[call.open], call.id)
  end
  redis.call('ZREM', account_open, unpack(ids))
  for open, of_key in pairs(of_keys) do redis.call('ZREM', open, unpack(of_key)) end

  local shrunk, has_shrunk, freed, returns = {}, {}, {}, {}
  for index, hold in ipairs(redis.call('HMGET', holds, unpack(ids))) do
    local id, charge = ids[index], calls[index].charge
    if hold and not has_shrunk[id] then
      local amount, limit, key, draws = parse_hold(hold)
      -- Neither has leading zeros, so the longer one is the greater.
      if #charge < #amount or (#charge == #amount and charge < amount) then
        has_shrunk[id] = true
        shrunk[#shrunk + 1] = id
        shrunk[#shrunk + 1] = hold_text(charge, limit, key, draws)
        freed[#freed + 1] = amount
        freed[#freed + 1] = '-' .. charge
        note_return(returns, prefix, key, draws, amount, charge)
      end
    end
  end
  if #shrunk == 0 then return 0 end
  redis.call('HSET', holds, unpack(shrunk))
  change('DECRBY', held, freed)
  if redis.call('EXISTS', avail) == 1 then change('INCRBY', avail, freed) end
  return_allowances(returns)
  return #shrunk / 2
end

