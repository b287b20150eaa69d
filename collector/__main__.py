"""The collector's commands. Each loads only its own modules, so that a sampling process stays small.

    prolog, epilog   for slurmd's hooks: never fail, never wait long
    run -- COMMAND   for every user: run a command, sample the job's GPUs on this node meanwhile, keep a summary
    send FILE...     send kept summaries to the portal, with a personal token
    run --job DIR    sample one job until its epilog ends it (started by prolog)
    ship             send waiting data (started by epilog and by a timer, which also sends interim summaries)
    resend           the same, and what was set aside before
    check            whether everything on this node works, one line for each check; status 1 if something does not
    once             one sample of every GPU of this node, as JSON
    replay TRACE     the payload of a recorded trace, as JSON
    comments         for an operator of Slurm: write the portal's comments of judged jobs into accounting; --dry-run
All take --config FILE; `run -- COMMAND` takes --output FILE, before the two dashes.
"""

from __future__ import annotations

import os
import sys

from collector import statefile
from collector.config import DEFAULT_FILE, Config, ConfigError, load

HOOKS = ("prolog", "epilog")
COMMANDS = (*HOOKS, "run", "send", "ship", "resend", "check", "once", "replay", "comments")
OPTIONS = ("--config", "--job", "--nodes", "--output")
DRY_RUN = "--dry-run"


def main() -> None:
    """Run one command and exit: a hook always with 0, the others with 1 if they could not work."""
    arguments, own = _split(sys.argv[1:])
    command, options, words = _parsed(arguments, is_own=bool(own))
    if own:
        os._exit(_loaded("own_run").run(options, own))
    node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0]
    if command in HOOKS:
        _hook(command, options, node)
    try:
        if command == "send":
            sys.exit(_loaded("sending").command(_loaded("own_sampling").settings(options["--config"])[0], words))
        if command == "comments":
            sys.exit(_comments(options, node, is_dry=DRY_RUN in words))
        config = _settings(options, node)
        sys.exit(_run(command, config, options, words))
    except ConfigError as error:
        sys.exit(str(error))


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What is before two dashes, and behind them the user's own command, none of whose words is ours."""
    at = arguments.index("--") if "--" in arguments else len(arguments)
    return arguments[:at], arguments[at + 1 :]


def _parsed(arguments: list[str], *, is_own: bool) -> tuple[str, dict[str, str], list[str]]:
    """The collector's command, its options, and what follows: a trace, or files."""
    options = dict.fromkeys(OPTIONS, "")
    words = []
    rest = iter(arguments)
    for word in rest:
        if word in OPTIONS:
            options[word] = next(rest, "")
        else:
            words.append(word)
    command = words.pop(0) if words else ""
    wanted = {"replay": len(words) == 1, "send": bool(words), "run": not words and is_own != bool(options["--job"])}
    wanted["comments"] = words in ([], [DRY_RUN])
    if command == "run" and words:
        sys.exit("kaiku-collector: two dashes must precede the command: run -- COMMAND")
    if command not in COMMANDS or (is_own and command != "run") or not wanted.get(command, not words):
        sys.exit(__doc__)
    return command, options, words


def _comments(options: dict[str, str], node: str, *, is_dry: bool) -> int:
    """Settings of its own; status 2 if they cannot be used."""
    settings = _loaded("comments.settings")
    named = options["--config"] or settings.DEFAULT_FILE
    try:
        if not os.path.exists(named):
            raise ConfigError(f"{named} does not exist")
        found = settings.load_settings(named, node)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return 2
    return int(_loaded("comments.command").comments(found, is_dry=is_dry))


def _settings(options: dict[str, str], node: str) -> Config:
    """The settings of the file that was named, or of the default file, which need not exist."""
    named = options["--config"]
    if named and not os.path.exists(named):
        raise ConfigError(f"{named} does not exist")
    options["--config"] = os.path.abspath(named or DEFAULT_FILE)
    return load(options["--config"], node)


def _run(command: str, config: Config, options: dict[str, str], words: list[str]) -> int:
    if command == "run":
        return _sample(config, options["--job"])
    if command == "ship":
        nodes = options["--nodes"]
        return int(_loaded("drain").drain(config, options["--config"], int(nodes) if nodes.isdecimal() else 0))
    if command == "resend":
        return int(_loaded("drain").resend(config, options["--config"]))
    if command == "check":
        return int(_loaded("check").check(config, options["--config"]))
    looking = _loaded("looking")
    return int(looking.once(config) if command == "once" else looking.replay(config, words[0]))


def _sample(config: Config, folder: str) -> int:
    """The life of a sampling process; an unexpected error is stored where the end of the job finds it."""
    try:
        _loaded("loop").run(config, folder)
        # An epilog may wait for this end, and nothing that an interpreter cleans up first is permanent.
        os._exit(0)
    except Exception as error:
        if os.getcwd() != f"{folder}/own":
            os.chdir(f"{folder}/own")
        statefile.save("crashed", f"{type(error).__name__}: {error}"[:300])
        return 1


def _hook(command: str, options: dict[str, str], node: str) -> None:
    """Whatever happens, the job continues: exit 0 within the time limit, and keep every failure.

    A failure that cannot be kept is printed: the hook's shell stores it. This also applies to invalid settings: nothing
    is written to places that they might not have intended.
    """
    config = None
    try:
        config = _settings(options, node)
        _loaded("guard").limit(config.hook_max_s)
        getattr(_loaded(command), command)(config, options["--config"], os.environ)
    except BaseException as error:
        reason = f"{command}: {type(error).__name__}: {error}"
        if config is None or not _loaded("failures").note(config, os.environ.get("SLURM_JOB_ID"), reason):
            os.write(2, reason.encode("utf-8", "replace")[:500])
    os._exit(0)


def _loaded(name: str):  # type: ignore[no-untyped-def]
    """One module of the collector, imported by the command that needs it."""
    return __import__(f"collector.{name}", fromlist=["name"])


if __name__ == "__main__":
    main()
