/**
 * What runs inside Redis or Valkey, each script atomic there. Time is the server's own, so the gateways' clocks need not
 * agree. Instants are whole µs, well inside a double; they are written with `%.0f`, since Lua's own conversion keeps
 * fourteen digits only.
 *
 * Every key expires: state of a tenant or a gateway that is gone goes by itself. The first line of a script is its name.
 */

export interface StateScript {
  /** Name of the command that runs it. */
  readonly name: string;
  readonly keys: number | undefined;
  readonly lua: string;
}

const NOW = `
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
`;

/**
 * Takes a place and tokens, or says why not. The bucket is the instant at which it is full (`TokenBucket` in
 * src/policy/admission): in credit, any amount may be taken.
 *
 * Keys: bucket, leases. Arguments: µs per token (0: no rate), burst, tokens, places (0: any), lease, µs that it lasts.
 * Answers {1, 0}, or {0, µs until the rate lets go}, or {-1, µs until the oldest lease lapses}.
 */
export const ACQUIRE: StateScript = {
  name: "manxAcquire",
  keys: 2,
  lua: `-- manxAcquire${NOW}
local perToken, burst, tokens = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local places, lasts = tonumber(ARGV[4]), tonumber(ARGV[6])
if places > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now))
  if redis.call('ZCARD', KEYS[2]) >= places then
    local oldest = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
    return {-1, math.max(0, math.ceil(tonumber(oldest[2]) - now))}
  end
end
if perToken > 0 then
  local full = math.max(now, tonumber(redis.call('GET', KEYS[1]) or '0'))
  local ready = full - (burst - 1) * perToken
  if ready > now then return {0, math.ceil(ready - now)} end
  full = full + tokens * perToken
  local ttl = math.ceil((full - now) / 1000) + 1000
  redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', string.format('%.0f', ttl))
end
if places > 0 then
  redis.call('ZADD', KEYS[2], string.format('%.0f', now + lasts), ARGV[5])
  redis.call('PEXPIRE', KEYS[2], string.format('%.0f', math.ceil(lasts / 500)))
end
return {1, 0}
`,
};

/**
 * Gives a place back and corrects what was taken. Keys: bucket, leases. Arguments: µs per token (0: no rate), tokens to
 * take on top or, if negative, to give back, lease.
 */
export const RELEASE: StateScript = {
  name: "manxRelease",
  keys: 2,
  lua: `-- manxRelease${NOW}
local perToken, tokens = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREM', KEYS[2], ARGV[3])
if perToken > 0 and tokens ~= 0 then
  local full = tonumber(redis.call('GET', KEYS[1]) or '0')
  if tokens > 0 then full = math.max(now, full) end
  full = full + tokens * perToken
  if full <= now then
    redis.call('DEL', KEYS[1])
  else
    local ttl = math.ceil((full - now) / 1000) + 1000
    redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', string.format('%.0f', ttl))
  end
end
return 1
`,
};

/** Keeps a gateway's leases alive, and puts those back that a restart has lost. Keys: leases. Arguments: µs, lease… */
export const RENEW: StateScript = {
  name: "manxRenew",
  keys: 1,
  lua: `-- manxRenew${NOW}
local lasts = tonumber(ARGV[1])
for i = 2, #ARGV do
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + lasts), ARGV[i])
end
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil(lasts / 500)))
return #ARGV - 1
`,
};

/** "I am here": answers how many gateways are. Keys: gateways. Arguments: gateway, µs; 0 µs for leaving. */
export const PRESENT: StateScript = {
  name: "manxPresent",
  keys: 1,
  lua: `-- manxPresent${NOW}
local lasts = tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
if lasts > 0 then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + lasts), ARGV[1])
  redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.ceil(lasts / 500)))
else
  redis.call('ZREM', KEYS[1], ARGV[1])
end
return redis.call('ZCARD', KEYS[1])
`,
};

/** Opens breakers for everybody, or closes them. Keys: breakers. Arguments: µs; 0 closes. */
export const SET_BREAKERS: StateScript = {
  name: "manxSetBreakers",
  keys: undefined,
  lua: `-- manxSetBreakers
local ms = math.ceil(tonumber(ARGV[1]) / 1000)
for i = 1, #KEYS do
  if ms > 0 then redis.call('SET', KEYS[i], '1', 'PX', string.format('%.0f', ms))
  else redis.call('DEL', KEYS[i]) end
end
return #KEYS
`,
};

/** For how many ms each is still open; 0 or less if it is not. Keys: breakers. */
export const GET_BREAKERS: StateScript = {
  name: "manxGetBreakers",
  keys: undefined,
  lua: `-- manxGetBreakers
local left = {}
for i = 1, #KEYS do left[i] = redis.call('PTTL', KEYS[i]) end
return left
`,
};

export const STATE_SCRIPTS: readonly StateScript[] = [
  ACQUIRE,
  RELEASE,
  RENEW,
  PRESENT,
  SET_BREAKERS,
  GET_BREAKERS,
];
