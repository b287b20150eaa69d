"""kaiku completion bash|zsh|fish

Prints the completion of commands, options and files for a shell. To use it, add one line to the shell's own file:

  bash, in ~/.bashrc                   eval "$(kaiku completion bash)"
  zsh, in ~/.zshrc, after compinit     eval "$(kaiku completion zsh)"
  fish, in config.fish                 kaiku completion fish | source
"""

from __future__ import annotations

from cli import __main__ as program
from cli.errors import Usage
from cli.options import FLAG

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from cli.session import Session

SHELLS = ("bash", "zsh", "fish")
OPTIONS: dict[str, object] = {}
WORDS_MAX = 1
WORDS = SHELLS
"""A command's `WORDS` are those that it takes, `VALUES` those of an option; without them files are offered."""


class Completed:
    """One command: its options, those of them that need a value, the words it takes, and the values of an option."""

    def __init__(self, name: str) -> None:
        module = program.loaded(name)
        known: Mapping[str, object] = {**module.OPTIONS, **program.COMMON}
        self.name, self.does = name, program.COMMANDS[name]
        self.options = [f"--{option}" for option in known]
        self.taking = [f"--{option}" for option, kind in known.items() if kind != FLAG]
        self.words: tuple[str, ...] = getattr(module, "WORDS", ())
        self.values: Mapping[str, tuple[str, ...]] = getattr(module, "VALUES", {})


def run(session: Session) -> int:
    """Made from the commands themselves, so that it never lags behind them."""
    shell = session.options.words[0] if session.options.words else ""
    if shell not in SHELLS:
        raise Usage("which shell? kaiku completion bash|zsh|fish")
    commands = [Completed(name) for name in program.COMMANDS]
    made = {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands)
    session.terminal.raw(made.encode("ascii", "replace"))
    return 0


def _bash(commands: list[Completed]) -> str:
    names = "|".join(each.name for each in commands)
    return f"""\
_kaiku() {{
    local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command= at
    # bash divides words at "=" and ":" too: --class=wasted, --url https://...
    if [[ $word == "=" ]]; then word=; elif [[ $before == "=" ]]; then before=${{COMP_WORDS[COMP_CWORD-2]}}; fi
    for ((at = 1; at < COMP_CWORD; at++)); do
        case ${{COMP_WORDS[at]}} in {names}) command=${{COMP_WORDS[at]}}; break ;; esac
    done
{_cases(commands)}
}}
complete -o default -F _kaiku kaiku kaiku.pyz
"""


def _zsh(commands: list[Completed]) -> str:
    return f"""\
autoload -U +X bashcompinit && bashcompinit
{_bash(commands)}"""


def _cases(commands: list[Completed]) -> str:
    """What is offered after each command; nothing leaves it to the shell, which offers files."""
    before = "|".join(f":--{option}" for option, kind in program.COMMON.items() if kind != FLAG)
    lines = ["    case $command:$before in", f"    {before}) COMPREPLY=(); return ;;"]
    for each in commands:
        for option, values in each.values.items():
            lines.append(
                f'    {each.name}:--{option}) COMPREPLY=($(compgen -W "{" ".join(values)}" -- "$word")); return ;;'
            )
        taking = "|".join(f"{each.name}:{option}" for option in each.taking if option[2:] not in each.values)
        lines.append(f"    {taking}) COMPREPLY=(); return ;;")
    lines += ["    esac", "    case $command in"]
    names = " ".join(each.name for each in commands)
    common = " ".join(f"--{option}" for option in program.COMMON)
    lines.append(f'    "") COMPREPLY=($(compgen -W "{names} {common}" -- "$word")) ;;')
    for each in commands:
        offered = " ".join([*each.words, *each.options])
        lines.append(f'    {each.name}) COMPREPLY=($(compgen -W "{offered}" -- "$word")) ;;')
    return "\n".join([*lines, "    esac"])


def _fish(commands: list[Completed]) -> str:
    lines = ["complete -c kaiku -e"]
    common = list(program.COMMON)
    for each in commands:
        lines.append(f'complete -c kaiku -n __fish_use_subcommand -f -a {each.name} -d "{each.does}"')
        within = f"complete -c kaiku -n '__fish_seen_subcommand_from {each.name}'"
        if each.words:
            lines.append(f"{within} -f -a '{' '.join(each.words)}'")
        for option in each.options:
            name = option[2:]
            if name in common:
                continue
            values = f" -f -a '{' '.join(each.values[name])}'" if name in each.values else ""
            lines.append(f"{within} -l {name}{' -r' if option in each.taking else ''}{values}")
    for option, kind in program.COMMON.items():
        lines.append(f"complete -c kaiku -l {option}{'' if kind == FLAG else ' -r'}")
    return "\n".join(lines) + "\n"
