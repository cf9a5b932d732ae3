-- SPDX-License-Identifier: MIT
-- Options: from a caller's table to a record of the generated module.
--
-- A rule defines what an option may be and where its value is stored:
--     { "duration" }                 whole milliseconds above 0, same name
--     { "duration", zero = bit }     the same, and 0, which sets the bit
--     { "string" }                   a string without NUL, same name
--     { "bytes", least = n }         a string of n bytes or more, same name,
--                                    and its length; not kept by the record
--     { "number" }                   a number, same name
--     { "count" }                    a whole number from 1 on, same name
--     { "choice", names }            one of the names, its number is stored
--     { "flag", bit, when = b }      a boolean; sets the bit when it is b

local options = {}

local checks = {}

function checks.duration(record, key, rule, value)
  if rule.zero and value == 0 then
    record.flags = record.flags + rule.zero
    return nil
  end
  local usable = type(value) == "number" and value > 0 and value < 2 ^ 53
  if not usable or value % 1 ~= 0 then
    return rule.zero and "whole milliseconds" or "whole milliseconds, more than 0"
  end
  record[key] = math.ceil(value) -- an integer, where Lua has them
end

function checks.string(record, key, _, value)
  if type(value) ~= "string" or value:find("\0", 1, true) then
    return "a string without NUL"
  end
  record[key] = value
end

function checks.bytes(record, key, rule, value)
  if type(value) ~= "string" then
    return "a string"
  elseif #value < rule.least then
    return "a string that is not empty"
  end
  record[key] = value
  record[key .. "_len"] = #value
end

function checks.number(record, key, _, value)
  if type(value) ~= "number" or value % 1 ~= 0 then
    return "a whole number"
  end
  record[key] = value
end

function checks.count(record, key, _, value)
  local usable = type(value) == "number" and value % 1 == 0
    and value >= 1 and value < 2 ^ 31
  if not usable then
    return "a whole number, 1 or more"
  end
  record[key] = value
end

function checks.choice(record, key, rule, value)
  local names = {}
  for number, name in pairs(rule[2]) do
    if name == value then
      record[key] = number
      return nil
    end
    names[#names + 1] = ("%q"):format(name)
  end
  table.sort(names)
  return table.concat(names, " or ")
end

function checks.flag(record, _, rule, value)
  if type(value) ~= "boolean" then
    return "true or false"
  end
  if value == rule.when then
    record.flags = record.flags + rule[2]
  end
end

local function known(rules)
  local keys = {}
  for key in pairs(rules) do
    keys[#keys + 1] = key
  end
  table.sort(keys)
  return table.concat(keys, ", ")
end

--- Fill a record. A wrong option raises an error in the line that called the
--- public function.
---@param record userdata made by the generated module, with defaults
---@param rules table<string, table> see above
---@param given table? the caller's options
---@return userdata # the record
function options.fill(record, rules, given)
  if given ~= nil and type(given) ~= "table" then
    error("options must be a table, got " .. type(given), 3)
  end
  for key, value in pairs(given or {}) do
    local rule = rules[key]
    if not rule then
      local text = "unknown option %q; there are %s"
      error(text:format(tostring(key), known(rules)), 3)
    end
    local wanted = checks[rule[1]](record, key, rule, value)
    if wanted then
      local shown = type(value) == "table" and "a table" or tostring(value)
      error(("option %s must be %s, got %s"):format(key, wanted, shown), 3)
    end
  end
  return record
end

return options
