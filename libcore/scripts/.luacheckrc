-- What a server's Lua offers to a script, and how ours are written.
std = "lua51"
read_globals = { "KEYS", "ARGV", "redis" }
max_line_length = 120
ignore = {
  "211/[A-Z_]+", -- the codes come all together from include/reply.lua
  "431", -- an include after an early return sees the script's names
}
