"""The collector's commands. Each loads only its own modules, so that a sampling process stays small.

    prolog, epilog   for slurmd's hooks: never fail, never wait long
    run --job DIR    sample one job until its epilog ends it (started by prolog)
    ship             send what waits on disk (started by epilog and by a timer)
    once             one sample of every GPU of this node, as JSON
    replay TRACE     the payload of a recorded trace, as JSON
All take --config FILE.
"""

from __future__ import annotations

import os
import sys

from collector import statefile
from collector.config import DEFAULT_FILE, Config, ConfigError, load

HOOKS = ("prolog", "epilog")


def main() -> None:
    """Run one command and exit: a hook always with 0, the others with 1 when they could not do their work."""
    command, options = _parsed(sys.argv[1:])
    node = os.environ.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0]
    if command in HOOKS:
        _hook(command, options, node)
    try:
        config = load(options["--config"], node)
        sys.exit(_run(command, config, options))
    except ConfigError as error:
        sys.exit(str(error))


def _parsed(arguments: list[str]) -> tuple[str, dict[str, str]]:
    options = {"--config": DEFAULT_FILE}
    words = []
    rest = iter(arguments)
    for word in rest:
        if word in ("--config", "--job"):
            options[word] = next(rest, "")
        else:
            words.append(word)
    command = words[0] if words else ""
    wanted = 2 if command == "replay" else 1
    if command not in (*HOOKS, "run", "ship", "once", "replay") or len(words) != wanted:
        sys.exit(__doc__)
    return command, {**options, "TRACE": words[-1]}


def _run(command: str, config: Config, options: dict[str, str]) -> int:
    if command == "run":
        __import__("collector.loop", fromlist=["run"]).run(config, options["--job"])
        return 0
    if command == "ship":
        return int(__import__("collector.drain", fromlist=["drain"]).drain(config, options["--config"]))
    looking = __import__("collector.looking", fromlist=["once"])
    return int(looking.once(config) if command == "once" else looking.replay(config, options["TRACE"]))


def _hook(command: str, options: dict[str, str], node: str) -> None:
    """Whatever happens, the job goes on: exit 0 within the time limit, and write down what went wrong."""
    config = Config()
    try:
        guard = __import__("collector.guard", fromlist=["limit"])
        config = load(options["--config"], node)
        guard.limit(config.hook_max_s)
        hooks = __import__("collector.hooks", fromlist=HOOKS)
        getattr(hooks, command)(config, options["--config"], os.environ)
    except BaseException as error:
        _write_down(config, f"{command}: {type(error).__name__}: {error}")
    os._exit(0)


def _write_down(config: Config, reason: str) -> None:
    try:
        statefile.private_folder(config.state_dir)
        statefile.save(config.hook_error_file, reason[:500])
    except OSError:
        os.write(2, reason.encode("utf-8", "replace")[:500])


if __name__ == "__main__":
    main()
