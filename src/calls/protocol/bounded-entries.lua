-- Lua functions over a set of Redis keys ("entries") whose sizes are summed by account and in total. Beyond a
-- maximum, the entries that expire first are dropped. Prepended to scripts; all their keys, including the entries,
-- must share the hash tag of `set`, the prefix of:
--   <set>:ends            sorted set: entry by the unix ms at which it expires
--   <set>:ends:<account>  the same, of one account
--   <set>:sizes           hash: entry → <size>:<account>
--   <set>:sums            hash: account id, or '*' for all → sum of sizes
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- Maximum entries removed by one run, so that none blocks Redis.
local AT_ONCE = 100

-- Removes an entry from the counts; returns the account it was counted for.
local function uncount(set, entry)
  local known = redis.call('HGET', set .. ':sizes', entry)
  if not known then return nil end
  local size, account = string.match(known, '^(%d+):(.*)$')
  redis.call('HDEL', set .. ':sizes', entry)
  redis.call('ZREM', set .. ':ends', entry)
  redis.call('ZREM', set .. ':ends:' .. account, entry)
  for _, owner in ipairs({ account, '*' }) do
    if redis.call('HINCRBY', set .. ':sums', owner, -size) <= 0 then redis.call('HDEL', set .. ':sums', owner) end
  end
  return account
end

-- Makes space for an entry and counts it until it expires. Returns whether there is space, and the accounts
-- with dropped entries.
local function count(set, entry, account, size, lifetime, account_max, all_max)
  uncount(set, entry)
  for _, expired in ipairs(redis.call('ZRANGEBYSCORE', set .. ':ends', '-inf', now, 'LIMIT', 0, AT_ONCE)) do
    uncount(set, expired)
  end
  local dropped, removed = {}, 0
  local function fits(ends, owner, max)
    while tonumber(redis.call('HGET', set .. ':sums', owner) or 0) + size > max do
      local first = redis.call('ZRANGE', ends, 0, 0)[1]
      if not first or removed == AT_ONCE then return false end
      redis.call('DEL', first)
      dropped[#dropped + 1] = uncount(set, first)
      removed = removed + 1
    end
    return true
  end
  local is_kept = size <= account_max and size <= all_max
    and fits(set .. ':ends:' .. account, account, account_max) and fits(set .. ':ends', '*', all_max)
  if is_kept then
    redis.call('HSET', set .. ':sizes', entry, string.format('%d', size) .. ':' .. account)
    redis.call('ZADD', set .. ':ends', now + lifetime, entry)
    redis.call('ZADD', set .. ':ends:' .. account, now + lifetime, entry)
    for _, owner in ipairs({ account, '*' }) do redis.call('HINCRBY', set .. ':sums', owner, size) end
  end
  return is_kept, dropped
end
