-- Notes on the job of a call that its caller was told that the call failed. The step that finishes the call
-- (src/calls/dispatch/finish-calls.lua) finds it, and settles nothing that the caller was not delivered.
--
-- KEYS  1 job hash
-- ARGV  1 what the caller was told, JSON
-- Returns 1 when it is noted, 0 when there is no job: the call is finished, or Redis lost it
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
redis.call('HSETNX', KEYS[1], 'told', ARGV[1])
return 1
