-- Records on the job of a call that its client received an error. The script that finishes the call
-- (src/calls/worker/finish-calls.lua) reads it and settles only what the client received.
--
-- KEYS  1 job hash
-- ARGV  1 the error, JSON
-- Returns 1 when it is recorded, 0 when there is no job: the call is finished, or Redis lost it
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSETNX', KEYS[1], 'told', ARGV[1])
return 1
