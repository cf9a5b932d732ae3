-- SPDX-License-Identifier: MIT
-- Reading the table in tests/conformance: cases of lines of words.
--
-- The directory is $ILK_CONFORMANCE_DIR, or the one beside this directory.

local support = require "support"

local conformance = {}

local escapes = { n = "\n", r = "\r", t = "\t", ["\\"] = "\\", ['"'] = '"' }

local function directory()
  local here = debug.getinfo(1, "S").source:match("^@(.*)/[^/]*$") or "."
  return os.getenv("ILK_CONFORMANCE_DIR") or here .. "/../conformance"
end

local function read_file(cases, path)
  local file = path:match("[^/]*$")
  local number = 0
  for line in io.lines(path) do
    local text = line:match("^%s*(.-)%s*$")
    local title = text:match("^case (.*)$")
    number = number + 1
    if title then
      cases[#cases + 1] = {
        title = file .. ": " .. title, file = file, lines = {},
      }
    elseif text ~= "" and text:sub(1, 1) ~= "#" then
      local lines = assert(cases[#cases], path .. ": before a case").lines
      lines[#lines + 1] = { number = number, text = text }
    end
  end
end

--- All cases of all files; an error when there is none.
function conformance.cases()
  local cases = {}
  local dir = directory()
  for path in support.output("ls " .. dir .. "/*.txt"):gmatch("[^\n]+") do
    read_file(cases, path)
  end
  assert(#cases > 0, "no table in " .. dir)
  return cases
end

-- One word that begins at a place; the word and the place behind it.
local function word_at(text, at, names)
  local quoted = text:sub(at, at) == '"'
  local made = {}
  at = quoted and at + 1 or at
  while at <= #text do
    local byte = text:sub(at, at)
    local name = text:match("^%$(%w+)", at)
    local hex = text:match("^\\x(%x%x)", at)
    if quoted and byte == '"' then
      return table.concat(made), at + 1
    elseif not quoted and byte:find("%s") then
      break
    elseif name then
      byte, at = names[name] or names.unique .. name, at + #name
    elseif quoted and hex then
      byte, at = string.char(tonumber(hex, 16)), at + 3
    elseif quoted and byte == "\\" then
      byte, at = assert(escapes[text:sub(at + 1, at + 1)]), at + 1
    end
    made[#made + 1] = byte
    at = at + 1
  end
  assert(not quoted, "a quote is open")
  return table.concat(made), at
end

--- The words of a line, names put in.
function conformance.split(text, names)
  local words = {}
  local at = text:find("%S")
  while at and text:sub(at, at) ~= "#" do
    words[#words + 1], at = word_at(text, at, names)
    at = text:find("%S", at)
  end
  return words
end

return conformance
