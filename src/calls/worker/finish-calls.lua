-- Finishes calls that ended at about the same time, each completely or not at all: checks that the claim of this worker
-- is still valid, ends the calls in the balance cache, removes their dispatch jobs, enqueues one settlement job with all
-- their records, and publishes the last frames. Writes that calls share are made once for all. holds.lua is prepended.
--
-- Jobs have the layout of BullMQ 6.7: `<prefix>:<queue>:<list, or job id>`. `ats` counts the claims of a job. If it equals
-- this worker's claim, no other worker claimed the job since, wherever the stalled check put it; unless Redis lost
-- its last writes and reused the number, which the lock of another worker shows. A job named
-- `revived` replaces the lost job of a running call, and has no claim until its worker dies.
--
-- A broken connection sends the step again, and a worker has one step in flight. The result of the last step
-- that finished calls is stored, so that a repetition returns the same result.
--
-- KEYS  1 dispatch queue  2 settlement queue (without a list)  3 result of this worker's last step
--       4 channels with ends that are not acknowledged (see end-acknowledgements.ts)
--       then per call: record of the account
-- ARGV  1 settlement job id  2 its options, JSON  3 now, unix ms  4 start of a message, JSON
--       5 id of this worker, which is the token of its locks
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
local dispatch, settlement, last_step, ending_channels = KEYS[1] .. ':', KEYS[2] .. ':', KEYS[3], KEYS[4]
local PER_CALL_ARGS = 9
local LAST_STEP_KEPT_MS, CONVERSATION_IDLE_MS = 600000, 600000
local token = ARGV[5]

local last = redis.call('GET', last_step)
if last and string.sub(last, 1, #ARGV[1]) == ARGV[1] then return cjson.decode(string.sub(last, #ARGV[1] + 1)) end

local calls = {}
for at = 6, #ARGV, PER_CALL_ARGS do
  local id, channel, frame, record, charge, key, claim, taken, moved = unpack(ARGV, at, at + PER_CALL_ARGS - 1)
  calls[#calls + 1] = {
    id = id, channel = channel, frame = frame, record = record, charge = charge, key = key, claim = claim,
    taken = taken, moved = moved, must_hear = taken ~= '', job = dispatch .. id, account = KEYS[5 + #calls],
  }
end

local listeners = {}
local function has_subscriber(channel)
  if channel == '' then return true end
  listeners[channel] = listeners[channel] or redis.call('PUBSUB', 'NUMSUB', channel)[2]
  return listeners[channel] > 0
end

-- Whether the claim is valid and the completion counts: nil, or the reason against it.
local function refusal(call)
  local name, claims, failure = unpack(redis.call('HMGET', call.job, 'name', 'ats', 'told'))
  if call.claim ~= 'any' then
    if not name then return 'gone' end
    local is_ours
    if call.claim == 'revived' then
      is_ours = name == 'revived' and not claims
    else
      local holder = redis.call('GET', call.job .. ':lock')
      is_ours = claims == call.claim and (not holder or holder == token)
    end
    if not is_ours then return 'lost' end
  end
  if not call.must_hear then return nil end
  return failure or (call.frame ~= '' and not has_subscriber(call.channel) and 'no-subscriber') or nil
end

for _, call in ipairs(calls) do call.result = refusal(call) end

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

local wanted, accounts = {}, {}
for _, call in ipairs(calls) do
  if not call.result then
    wanted[call.account] = wanted[call.account] or { 'avail', 'use' }
    table.insert(wanted[call.account], 'use:' .. call.key)
    table.insert(wanted[call.account], call.id)
  end
end
for record, fields in pairs(wanted) do accounts[record] = open_record(record, fields) end

-- The settlement record of a call, with the hold in Redis if it differs from the record. A hold that Redis lost may
-- be restored with its charge, and a call that was ended before is no longer open: neither is evidence.
local function record_of(call)
  if call.claim == 'any' or call.claim == 'revived' then return call.record end
  local amount, _, _, _, _, bytes = parse_hold(accounts[call.account].fields[call.id] or '')
  if not amount or bytes == '' or amount == string.match(call.record, '"holdPico":"(%d+)"') then return call.record end
  return string.sub(call.record, 1, -2) .. ',"redisHoldPico":"' .. amount .. '"}'
end

local results, records, frames, ends, ids, gone = {}, {}, {}, {}, {}, {}
local settling = {}
for index, call in ipairs(calls) do
  if not call.result then
    if call.claim ~= 'any' then
      unlist(call.id)
      ids[#ids + 1] = call.id
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
      table.insert(ends[call.channel], taken .. ':' .. ARGV[3] .. ':' .. token)
    end
    if call.channel ~= '' and call.frame ~= '' then
      frames[call.channel] = frames[call.channel] or { ARGV[4] }
      table.insert(frames[call.channel], call.frame)
    end
    if call.moved ~= '' then
      local conversation, target = string.match(call.moved, '^(%d+) (.+)$')
      local key = accounts[call.account].prefix .. 'conversation:' .. conversation
      redis.call('SET', key, ARGV[3] .. ' ' .. target, 'PX', CONVERSATION_IDLE_MS)
    end
    call.result = 'finished'
  end
  results[index] = call.result
end
if #records == 0 then return results end

for _, account in pairs(accounts) do save(account) end
if #ids > 0 then
  redis.call('SREM', dispatch .. 'stalled', unpack(ids))
  redis.call('DEL', unpack(gone))
end

-- The ids of the calls it settles, so that readers need not parse the records; and its bytes in the backlog, until it is
-- completed (complete-jobs.lua).
local job = settlement .. ARGV[1]
local data = '{"records":[' .. table.concat(records, ',') .. ']}'
redis.call('HSET', job, 'name', 'settle', 'data', data, 'opts', ARGV[2], 'timestamp', ARGV[3], 'delay', 0, 'priority', 0,
  'calls', table.concat(settling, ','), 'bytes', #data)
redis.call('INCRBY', settlement .. 'bytes', #data)
redis.call('LPUSH', settlement .. 'wait', ARGV[1])
if redis.call('HEXISTS', settlement .. 'meta', 'paused') == 0 then
  redis.call('ZADD', settlement .. 'marker', 0, '0')
end
redis.call('SET', last_step, ARGV[1] .. cjson.encode(results), 'PX', LAST_STEP_KEPT_MS)
for channel, of_channel in pairs(ends) do
  redis.call('HSET', channel .. ':ends', unpack(of_channel))
  redis.call('SADD', ending_channels, channel)
end
-- Last, so that a Redis that refuses writes has published nothing. One message per channel, a JSON array of frames.
for channel, of_channel in pairs(frames) do
  redis.call('PUBLISH', channel, '[' .. table.concat(of_channel, ',') .. ']')
end
return results
