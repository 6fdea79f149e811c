-- Finishes calls that ended at about the same time, each completely or not at all: checks that the claim of this worker
-- is still valid, ends the calls in the balance cache, removes their dispatch jobs, enqueues one settlement job with all
-- their records, and publishes the last frames. Writes that calls share are made once for all. holds.lua is prepended.
--
-- Jobs have the layout of BullMQ 6.7: `<prefix>:<queue>:<list, or job id>`. `ats` counts the claims of a job. If it equals
-- this worker's claim, no other worker claimed the job since, wherever the stalled check put it; unless Redis lost
-- its last writes and reused the number, which the token of the claim (`by`) shows, or where BullMQ or an earlier version
-- claimed it, the lock. A job named
-- `revived` replaces the lost job of a running call, and has no claim until its worker dies.
--
-- A broken connection sends the step again, and a worker has one step in flight. The result of the last step
-- that finished calls is stored, so that a repetition returns the same result.
--
-- KEYS  1 dispatch queue (without a list); the keys that belong to it are derived: see redis-keys.ts
--       then per call: record of the account
-- ARGV  1 settlement job id  2 now, unix ms  3 start of a message, JSON, which names this worker: the token of its locks
--       then per call: id, reply channel or '', last frame (JSON) or '' if it is not published, settlement record
--       (JSON), amount charged,
--       key id, claim: `ats`, 'revived', or 'any' for a job that Redis has lost,
--       '', or, if the completion is charged only when its client receives it, the completion tokens that were
--       certainly received before: then the call must not have failed for its client, and the channel must have a
--       subscriber if the end is published,
--       '', or its conversation and the candidate that this is on from now on (see affinity.ts)
-- An end is recorded until it is acknowledged, as <tokens received before, '' if the client need not receive it>:<now>:<worker>.
-- Returns per call 'finished'; or, with nothing done: 'no-subscriber': the channel has no subscriber; 'lost': another worker has the
-- call; 'gone': there is no job, since this worker or another finished the call, or Redis lost it; JSON: the error that its
-- client received (see note-failure.lua)
local PER_CALL_ARGS = 9
local LAST_STEP_KEPT_MS, CONVERSATION_IDLE_MS = 600000, 600000
local shard, dispatch = string.match(KEYS[1], '^.*:'), KEYS[1] .. ':'
local settlement = shard .. 'settlement:'
local step, now, opening = ARGV[1], ARGV[2], ARGV[3]
local token = string.match(opening, '^%["([^"]+)"')
local last_step = shard .. 'finished:' .. token

local calls, ids = {}, {}
for at = 4, #ARGV, PER_CALL_ARGS do
  local id, channel, frame, record, charge, key, claim, taken, moved = unpack(ARGV, at, at + PER_CALL_ARGS - 1)
  ids[#ids + 1] = id
  calls[#calls + 1] = {
    id = id, channel = channel, frame = frame, record = record, charge = charge, key = key, claim = claim,
    taken = taken, moved = moved, job = dispatch .. id, account = KEYS[#ids + 1],
  }
end

-- Whether the claim of a call is not certainly valid.
local is_doubtful = false

-- Whether the claim is valid and the completion counts: nil, or the reason against it.
local function refusal(call)
  local name, claims, failure, by = unpack(redis.call('HMGET', call.job, 'name', 'ats', 'told', 'by'))
  local is_ours
  if call.claim == 'any' then
    is_doubtful = true
  elseif not name then
    is_doubtful = true
    return 'gone'
  elseif call.claim == 'revived' then
    is_ours = name == 'revived' and not claims
    is_doubtful = true
  else
    local holder = by or redis.call('GET', call.job .. ':lock')
    is_ours = claims == call.claim and (not holder or holder == token)
    is_doubtful = is_doubtful or not is_ours
  end
  if is_ours == false then return 'lost' end
  return call.taken ~= '' and failure or nil
end

for _, call in ipairs(calls) do call.result = refusal(call) end

-- A worker with a valid claim has not finished the call before.
local last = is_doubtful and redis.call('GET', last_step)
if last and string.sub(last, 1, #step) == step then
  if #last > #step then return cjson.decode(string.sub(last, #step + 1)) end
  for index in ipairs(ids) do ids[index] = 'finished' end
  return ids
end

local wanted, accounts, frames, results, valid = {}, {}, {}, {}, {}
for index, call in ipairs(calls) do
  results[index] = call.result
  if not call.result then
    valid[#valid + 1] = call.id
    local fields = wanted[call.account] or { 'avail', 'use' }
    wanted[call.account] = fields
    fields[#fields + 1] = 'use:' .. call.key
    fields[#fields + 1] = call.id
    if call.frame ~= '' then
      frames[call.channel] = frames[call.channel] or { opening }
      table.insert(frames[call.channel], call.frame)
    end
  end
end
if #valid == 0 then return results end
for record, fields in pairs(wanted) do accounts[record] = open_record(record, fields) end

-- The first write, so that a Redis that refuses writes has published nothing. It changes nothing for a call that is not finished.
redis.call('SREM', dispatch .. 'stalled', unpack(valid))
-- One message per channel, a JSON array of frames. It arrives when the script has ended.
local listeners = {}
for channel, of_channel in pairs(frames) do
  listeners[channel] = redis.call('PUBLISH', channel, '[' .. table.concat(of_channel, ',') .. ']')
end

-- A list of claimed calls, the newest first, is searched from its nearer end: ids begin with their time, so one that is
-- newer than the middle is in the first half. If calls were claimed in another order the search is only longer.
local SHORT_LIST = 500
local open_calls = redis.call('LLEN', dispatch .. 'active')
local middle = open_calls > SHORT_LIST and redis.call('LINDEX', dispatch .. 'active', math.floor(open_calls / 2))
local function unlist(id)
  local from_end = middle and id > middle and 1 or -1
  if redis.call('LREM', dispatch .. 'active', from_end, id) == 0
    and redis.call('ZREM', dispatch .. 'delayed', id) == 0
    and redis.call('LREM', dispatch .. 'wait', -1, id) == 0 then
    redis.call('ZREM', dispatch .. 'prioritized', id)
  end
end

-- The settlement record of a call, with the hold in Redis if it differs from the record. A hold that Redis lost may
-- be restored with its charge, and a call that was ended before is no longer open: neither is evidence.
local function record_of(call)
  if call.claim == 'any' or call.claim == 'revived' then return call.record end
  local amount, _, _, _, _, bytes = parse_hold(accounts[call.account].fields[call.id] or '')
  if not amount or bytes == '' then return call.record end
  if string.find(call.record, '"holdPico":"' .. amount .. '"', 1, true) then return call.record end
  return string.sub(call.record, 1, -2) .. ',"redisHoldPico":"' .. amount .. '"}'
end

local records, ends, settling, gone = {}, {}, {}, {}
for index, call in ipairs(calls) do
  if not call.result and call.frame ~= '' and call.taken ~= '' and listeners[call.channel] == 0 then
    call.result = 'no-subscriber'
  end
  if not call.result then
    if call.claim ~= 'any' then
      unlist(call.id)
      gone[#gone + 1] = call.job
      gone[#gone + 1] = call.job .. ':lock'
    end
    records[#records + 1] = record_of(call)
    end_call(accounts[call.account], call.id, call.charge)
    settling[#settling + 1] = call.id
    local taken = call.charge ~= '0' and call.taken or ''
    if call.channel ~= '' and (call.frame ~= '' or taken ~= '') then
      ends[call.channel] = ends[call.channel] or {}
      table.insert(ends[call.channel], call.id)
      table.insert(ends[call.channel], taken .. ':' .. now .. ':' .. token)
    end
    if call.moved ~= '' then
      local conversation, target = string.match(call.moved, '^(%d+) (.+)$')
      local key = accounts[call.account].prefix .. 'conversation:' .. conversation
      redis.call('SET', key, now .. ' ' .. target, 'PX', CONVERSATION_IDLE_MS)
    end
  end
  results[index] = call.result or 'finished'
end
if #records == 0 then return results end

for _, account in pairs(accounts) do save(account) end
if #gone > 0 then redis.call('DEL', unpack(gone)) end

-- The ids of the calls it settles, so that readers need not parse the records; and its bytes in the backlog, until it is
-- completed (complete-jobs.lua).
local data = '{"records":[' .. table.concat(records, ',') .. ']}'
local options = '{"jobId":"' .. step .. '","removeOnComplete":true,"removeOnFail":true,"attempts":0}'
redis.call('HSET', settlement .. step, 'name', 'settle', 'data', data, 'opts', options, 'timestamp', now, 'delay', '0',
  'priority', '0', 'calls', table.concat(settling, ','), 'bytes', #data)
redis.call('INCRBY', settlement .. 'bytes', #data)
redis.call('LPUSH', settlement .. 'wait', step)
redis.call('ZADD', settlement .. 'marker', '0', '0')
redis.call('SET', last_step, #records == #calls and step or step .. cjson.encode(results), 'PX', LAST_STEP_KEPT_MS)
for channel, of_channel in pairs(ends) do
  redis.call('HSET', channel .. ':ends', unpack(of_channel))
  redis.call('SADD', shard .. 'ending-channels', channel)
end
return results
