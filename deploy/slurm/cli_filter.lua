-- kaiku-cli-filter 1: hints of Kaiku after a successful sbatch; docs/hints.md.
-- They come from one small local file that `kaiku hints` writes: no network, no Python in sbatch's way.
-- Whatever is wrong with that file, the job is submitted as without this filter, and nothing is shown.
-- As a module in a site's own filter: local ok, kaiku = pcall(dofile, "/etc/slurm/kaiku_hints.lua"); docs/hints.md.

-- Set by install-cli-filter: this cluster's name in Slurm; the absolute path of kaiku, which refreshes the file in the
-- background, empty: never from here.
local CLUSTER = ""
local KAIKU = ""

local FOLDER = "/kaiku/hints"      -- in the person's cache folder
local BYTES_MAX = 65536
local READ_S_MAX = "0.2"           -- then SIGKILL: a home directory may hang
local REFRESH_S_MAX = "60"
local AGE_S_MAX = 14 * 86400       -- older hints are not shown
local AHEAD_S_MAX = 3600           -- how far the clock may have been set back
local TRIES_S_MAX = 7 * 86400      -- a refresh that has been due for longer is left to kaiku itself
local LINES_MAX, LINE_LENGTH_MAX = 3, 120
local PATH_LENGTH_MAX, NAME_LENGTH_MAX = 1024, 200

-- Runs inside `timeout`, so that nothing that hangs is waited for; $1 is the folder. Only a plain, small file of this
-- person, in a folder of this person, both writable by nobody else; no links, no pipes. First a line: whether a refresh
-- could write there.
local READER = [[[ -O "$1" ] && [ -O "$1/hints" ] || exit; [ -w "$1" ] && echo 1 || echo 0; ]]
  .. [[exec /usr/bin/find "$1" -maxdepth 1 -type d -perm /022 -prune ]]
  .. [[-o -name hints -type f ! -perm /022 -size -129 -exec /usr/bin/head -c 65537 {} \;]]

-- Closes everything that sbatch's caller has open, before anything is left running: a lock must not be held for as long
-- as a refresh takes. bash, because other shells do not name descriptors of two digits; -p, so that it reads no file of
-- this person first. $1 is the time limit, $2 is kaiku.
local REFRESHER = [[[ -e /proc/self/fd/0 ] || exit 0
for each in /proc/self/fd/*; do each=${each##*/}; [ "$each" -le 2 ] || eval "exec $each>&-"; done
/usr/bin/timeout -s KILL "$1" "$2" hints --if-due >/dev/null &]]

local function words(text)
  local set = {}
  for word in text:gmatch("%S+") do set[word] = true end
  return set
end

-- As jobs/work_key.py has them.
local ENDINGS = words("sh bash zsh csh slurm sbatch sub batch job cmd py")
local COUNTED = words("run rerun restart resume retry try trial attempt rep repeat replica copy cont part chunk shard"
  .. " fold round iter iteration array arr task job id idx index no nr num v ver version rev revision rng")
local DONE = words("train training pretrain finetune tune eval evaluate infer inference test debug sim simulation md"
  .. " prod production bench benchmark exp experiment sweep")
local MONTHS = words("jan feb mar apr may jun jul aug sep oct nov dec")

-- Whether a word with digits stays as it is wherever it is, as "cp2k" and "7b" do: it ends with a letter, and cannot be
-- a part of a date, a time, a hash or a UUID.
local function is_part_of_name(word)
  if not word:find("%l$") or word:find("%d%d%d%d%d%d") then return false end
  if word:find("^0x%x+$") or word:find("^%d%d?h%d") then return false end
  if #word >= 4 and not word:find("[^%da-f]") then return false end
  for month in pairs(MONTHS) do
    if word:find(month, 1, true) then return false end
  end
  return true
end

-- The name as normalised_name of jobs/work_key.py has it, for the plain ones of ASCII letters, words such as "cp2k" and
-- at most a counter at the end; nil for every other: no hint is better than one of another work.
local function normalised(name)
  if #name > NAME_LENGTH_MAX or name:find("[^ -~]") then return nil end
  name = name:lower():match("^%s*(.-)%s*$")
  while true do
    local before, ending = name:match("^(.*)%.(%a+)$")
    if not before or not ENDINGS[ending] then break end
    name = before
  end
  if name:find("seed", 1, true) then return nil end
  local list = {}
  for word in name:gmatch("%w+") do list[#list + 1] = word end
  for index, word in ipairs(list) do
    -- Other digits before the end may be a date, words of a to f a part of a UUID.
    if index < #list and word:find("%d") and not is_part_of_name(word) then return nil end
    if #word >= 12 and not word:find("[^a-f]") then return nil end
  end
  local last = list[#list] or ""
  local letters, digits = last:match("^(%a*)(%d*)$")
  if not letters and is_part_of_name(last) then letters, digits = last, "" end
  if not letters or #digits > 5 then return nil end
  if digits ~= "" then
    local before = list[#list - 1]
    if letters == "" then
      if MONTHS[before] then return nil end
      list[#list] = nil
      if COUNTED[before] then list[#list] = nil end
    elseif COUNTED[letters] then
      list[#list] = nil
    elseif DONE[letters] then
      list[#list] = letters
    else
      return nil
    end
  end
  local found = table.concat(list, "-")
  return found ~= "" and found or nil
end

local function quoted(text) return "'" .. text:gsub("'", [['\'']]) .. "'" end

local function folder()
  local base = os.getenv("XDG_CACHE_HOME")
  if not base or base:sub(1, 1) ~= "/" then
    base = os.getenv("HOME")
    if not base or base:sub(1, 1) ~= "/" then return nil end
    base = base .. "/.cache"
  end
  if #base > PATH_LENGTH_MAX or base:find("%c") then return nil end
  return base .. FOLDER
end

-- What the file contains, and whether a refresh could write it; or nil. In read mode: a child that ends early must not end sbatch by SIGPIPE.
local function content()
  local place = folder()
  if not place then return nil end
  local pipe = io.popen("exec /usr/bin/timeout -s KILL " .. READ_S_MAX .. " /bin/sh -c " .. quoted(READER) .. " sh "
    .. quoted(place) .. " </dev/null 2>/dev/null", "r")
  if not pipe then return nil end
  local text = pipe:read(BYTES_MAX + 3)
  pipe:close()
  local is_writable, rest = (text or ""):match("^([01])\n(.*)$")
  if not rest or #rest > BYTES_MAX or rest:sub(-5) ~= "\nend\n" then return nil end
  return rest, is_writable == "1"
end

local function harmless(text)
  return (text:sub(1, LINE_LENGTH_MAX):gsub("[\128-\255]+", "?"):gsub("[^ -~]", "?"))
end

-- The lines for this work; nil if there are none, or if several works could be meant.
local function lines_for(text, cluster, project, name)
  local normal, found = normalised(name), nil
  local is_here, is_ours, is_first, lines = false, false, false, {}
  local function finish()
    if not is_here or not is_ours or #lines == 0 then return true end
    if found then return false end
    found = lines
    return true
  end
  for record in text:gmatch("[^\n]+") do
    local kind, rest = record:match("^(%l+)\t(.*)$")
    if kind == "work" then
      if not finish() then return nil end
      is_here, is_ours, is_first, lines = rest == cluster .. "\t" .. project, false, true, {}
    elseif kind == "name" and is_here then
      is_ours = is_ours or rest == name or is_first and rest == normal
      is_first = false
    elseif kind == "gpus" and is_here and not lines.gpus then
      lines.gpus, lines.before = #rest <= 6 and tonumber(rest:match("^%d+$")) or nil, #lines
    elseif kind == "line" and is_here and #lines < LINES_MAX then
      lines[#lines + 1] = harmless(rest)
    end
  end
  return finish() and found or nil
end

-- How many GPUs a value such as "mi250:4" or "gres:gpu:2,gres:nvme:1" names; nil where it names none. `is_gres`: other
-- things than GPUs may be in it.
local function gpus_in(value, is_gres)
  local sum = nil
  for part in (type(value) == "string" and value or ""):gmatch("[^,]+") do
    local rest = part:gsub("^gres[:/]", "")
    local is_gpu = rest == "gpu" or rest:sub(1, 4) == "gpu:"
    local number = rest:match("^(%d+)$") or rest:match(":(%d+)$") or is_gpu and not rest:find("%d$") and "1"
    if number and #number <= 6 and (is_gpu or not is_gres) then sum = (sum or 0) + tonumber(number) end
  end
  return sum
end

-- The number that an option has; what is not set has words or numbers below one.
local function count_in(value)
  local number = type(value) == "string" and value:match("^(%d+)$")
  return number and #number <= 9 and tonumber(number) or 0
end

-- How many GPUs a submission requests at most, in whatever form; nil where no option says it.
local function gpus_asked(options)
  local per_node, each = gpus_in(options["gpus-per-node"]), gpus_in(options["gres"], true)
  local per_task, tasks = gpus_in(options["gpus-per-task"]), count_in(options["ntasks"])
  local tasks_per_node = count_in(options["ntasks-per-node"])
  local nodes = 1
  for number in (type(options["nodes"]) == "string" and options["nodes"] or ""):gmatch("%d+") do
    nodes = math.max(nodes, count_in(number))
  end
  if tasks_per_node > 0 then nodes = math.max(nodes, math.ceil(tasks / tasks_per_node)) end
  local found = gpus_in(options["gpus"])
  -- Different forms of GPUs per node add up in Slurm.
  if per_node or each then found = math.max(found or 0, ((per_node or 0) + (each or 0)) * nodes) end
  if per_task then found = math.max(found or 0, per_task * math.max(tasks, tasks_per_node * nodes, 1)) end
  return found
end

-- The lines without a suggestion that this submission has already: it requests no more GPUs.
local function still_open(lines, options)
  if not lines.gpus then return lines end
  local asked = gpus_asked(options)
  -- Without any option about GPUs a site may give some; whoever requests none has what a suggestion of none changes.
  if (asked or 0) > lines.gpus or not asked and lines.gpus > 0 then return lines end
  local kept = {}
  for index = 1, lines.before do kept[index] = lines[index] end
  return kept
end

-- The name that Slurm gives the job: the option, or the file of the script.
local function job_name(options)
  local name = options["job-name"]
  if type(name) == "string" and name ~= "" then return name end
  local argv = options["argv"]
  local script = type(argv) == "table" and argv[1]
  return type(script) == "string" and script:match("([^/]+)$") or nil
end

local function cluster_of(options)
  local named = options["clusters"]
  if type(named) ~= "string" or named == "" then return CLUSTER end
  return not named:find(",", 1, true) and named ~= "all" and named or ""
end

local function is_wanted(options, offset)
  local function is_set(name) return options[name] == "set" end
  if options["type"] ~= "sbatch" or offset ~= 0 or is_set("parsable") or is_set("test-only") then return false end
  if (options["quiet"] or "0") ~= "0" or os.getenv("SLURM_JOB_ID") or os.getenv("SLURM_JOBID") then return false end
  local choice = (os.getenv("KAIKU_HINTS") or ""):lower()
  return choice ~= "off" and choice ~= "0" and choice ~= "no" and choice ~= "false"
end

local shown, is_due = nil, false

local function look_up(options, offset)
  if offset ~= 0 then return end
  shown, is_due = nil, false
  if not is_wanted(options, offset) then return end
  local text, is_writable = content()
  local made, due, is_on = (text or ""):match("^kaiku%-hints/1 (%d+) (%d+) ([01])\n")
  if not made or #made > 12 or #due > 12 then return end
  local age_s, overdue_s = os.time() - tonumber(made), os.time() - tonumber(due)
  is_due = is_writable and KAIKU ~= "" and overdue_s >= 0 and overdue_s < TRIES_S_MAX
  if is_on ~= "1" or age_s > AGE_S_MAX or age_s < -AHEAD_S_MAX then return end
  local cluster, project, name = cluster_of(options), options["account"], job_name(options)
  if cluster == "" or not name then return end
  if type(project) ~= "string" or project == "" then
    project = text:match("\naccount\t" .. cluster:gsub("%W", "%%%0") .. "\t([^\t\n]+)\n")
    if not project then return end
  end
  local lines = lines_for(text, cluster, project:lower(), name)
  shown = lines and still_open(lines, options)
end

local function show(offset)
  if offset ~= 0 then return end
  for _, line in ipairs(shown or {}) do slurm.log_info("%s", line) end
  shown = nil
  if not is_due then return end
  is_due = false
  local pipe = io.popen("exec /bin/bash -p -c " .. quoted(REFRESHER) .. " bash " .. REFRESH_S_MAX .. " "
    .. quoted(KAIKU) .. " </dev/null 2>/dev/null", "r")
  if pipe then pipe:close() end
end

local hints = {
  pre_submit = function(options, offset) pcall(look_up, options, offset) end,
  post_submit = function(offset) pcall(show, offset) end,
}

-- A site's own functions are never replaced.
if not slurm_cli_pre_submit and not slurm_cli_post_submit and not slurm_cli_setup_defaults then
  function slurm_cli_setup_defaults(options, early)
    return slurm.SUCCESS
  end

  function slurm_cli_pre_submit(options, offset)
    hints.pre_submit(options, offset)
    return slurm.SUCCESS
  end

  function slurm_cli_post_submit(offset, jobid, stepid)
    hints.post_submit(offset)
    return slurm.SUCCESS
  end
end

return hints
