"""A script with other options: the changed lines alone, everything else byte for byte."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from jobs.sbatch import OptionChange
from wire.sbatch.reading import read_script
from wire.sbatch.rewriting import Change, NotChanged, rewritten, unified_diff
from wire.sbatch.sharing import resource_options

HEAD = "#!/bin/bash\n"

# case -> (lines after the first, changes, those lines afterwards)
WRITTEN = {
    "long with =": ("#SBATCH --gpus=8\n", [("--gpus", "8", "2")], "#SBATCH --gpus=2\n"),
    "long with a blank": ("#SBATCH --gpus  8\n", [("--gpus", "8", "2")], "#SBATCH --gpus  2\n"),
    "short, glued": ("#SBATCH -G8 -N2\n", [("--gpus", "8", "2")], "#SBATCH -G2 -N2\n"),
    "short with a blank": ("#SBATCH -G 8 -N 2\n", [("--nodes", "2", "1")], "#SBATCH -G 8 -N 1\n"),
    "abbreviated": ("#SBATCH --cpus-per-t=7\n", [("--cpus-per-task", "7", "4")], "#SBATCH --cpus-per-t=4\n"),
    "second name": ("#SBATCH --tasks-per-node=8\n", [("--ntasks-per-node", "8", "2")], "#SBATCH --tasks-per-node=2\n"),
    "in a cluster": ("#SBATCH -HsN2\n", [("--nodes", "2", "1")], "#SBATCH -HsN1\n"),
    "quotes stay": ("#SBATCH --mem=\"480G\" -t '90'\n", [("--mem", "480G", "60G")], "#SBATCH --mem=\"60G\" -t '90'\n"),
    "whole word quoted": ('#SBATCH "--mem=480G"\n', [("--mem", "480G", "60G")], '#SBATCH "--mem=60G"\n'),
    "quotes within": ('#SBATCH --mem=4"80"G\n', [("--mem", "480G", "60G")], "#SBATCH --mem=60G\n"),
    "empty quotes": ('#SBATCH --gpus=""\n', [("--gpus", "", "2")], '#SBATCH --gpus=""2\n'),
    "comment behind": ("#SBATCH --gpus=8 # all\n", [("--gpus", "8", "2")], "#SBATCH --gpus=2 # all\n"),
    "tabs": ("#SBATCH\t--gpus=8\t\n", [("--gpus", "8", "2")], "#SBATCH\t--gpus=2\t\n"),
    "no blank": ("#SBATCH--gpus=8\n", [("--gpus", "8", "2")], "#SBATCH--gpus=2\n"),
    "the last one wins": (
        "#SBATCH --gpus=2\n#SBATCH -G 8\n",
        [("--gpus", "8", "4")],
        "#SBATCH --gpus=2\n#SBATCH -G 4\n",
    ),
    "DOS line ends": (
        "#SBATCH --gpus=8\r\n#SBATCH -n1\r\ntrue\r\n",
        [("--gpus", "8", "2"), ("--mem", "", "4G")],
        "#SBATCH --gpus=2\r\n#SBATCH -n1\r\n#SBATCH --mem=4G\r\ntrue\r\n",
    ),
    "left out, line alone": ("#SBATCH --exclusive\n#SBATCH -n1\n", [("--exclusive", "", "")], "#SBATCH -n1\n"),
    "left out, in a line": ("#SBATCH -n1 --exclusive -N1\n", [("--exclusive", "", "")], "#SBATCH -n1 -N1\n"),
    "left out, comment stays": ("#SBATCH --mem=4G # why\n", [("--mem", "4G", "")], "#SBATCH # why\n"),
    "left out, two words": ("#SBATCH --mem 4G -n1\n", [("--mem", "4G", "")], "#SBATCH -n1\n"),
    "left out, everywhere": (
        "#SBATCH --gpus=2 -G4\n#SBATCH -n1\n#SBATCH --gpus 8\n",
        [("--gpus", "8", "")],
        "#SBATCH -n1\n",
    ),
    "left out, in a cluster": ("#SBATCH -HsN2\n", [("--nodes", "2", "")], "#SBATCH -Hs\n"),
    "added behind the last directive": (
        "#SBATCH -n1\n# note\n#SBATCH -N1 # one\n\ntrue\n#SBATCH --mem=1G\n",
        [("--mem", "", "60G")],
        "#SBATCH -n1\n# note\n#SBATCH -N1 # one\n#SBATCH --mem=60G\n\ntrue\n#SBATCH --mem=1G\n",
    ),
    "added to a script without any": ("true\n", [("--mem", "", "60G")], "#SBATCH --mem=60G\ntrue\n"),
    "added where the last line has no end": ("#SBATCH -n1", [("--mem", "", "4G")], "#SBATCH -n1\n#SBATCH --mem=4G"),
    "added before a double dash": ("#SBATCH --\n", [("--mem", "", "4G")], "#SBATCH --mem=4G\n#SBATCH --\n"),
    "another form instead": (
        "#SBATCH --gpus=8 --mem-per-gpu=60G\n",
        [("--gpus", "8", ""), ("--gpus-per-node", "", "mi250:2")],
        "#SBATCH --mem-per-gpu=60G\n#SBATCH --gpus-per-node=mi250:2\n",
    ),
    "left out of a pair": ("#SBATCH -s\n#SBATCH --exclusive\n", [("--exclusive", "", "")], "#SBATCH -s\n"),
    "a value that Slurm refuses": ("#SBATCH -t 1h\n", [("--time", "", "01:00:00")], "#SBATCH -t 01:00:00\n"),
    "late directives stay": (
        "#SBATCH -G8\ntrue\n#SBATCH -G8\n",
        [("--gpus", "8", "2")],
        "#SBATCH -G2\ntrue\n#SBATCH -G8\n",
    ),
    "nothing to leave out": ("#SBATCH -n1\n", [("--exclusive", "", "")], "#SBATCH -n1\n"),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_only_the_lines_of_the_option_change(case: str) -> None:
    before, changes, after = WRITTEN[case]
    done = rewritten(read_script(HEAD + before), 0, [Change(*change) for change in changes])
    assert done.script.decode() == HEAD + after
    assert done.not_changed == ()


def test_the_changes_of_the_portal_serve_as_they_are() -> None:
    done = rewritten(read_script(f"{HEAD}#SBATCH -G8\n"), 0, [OptionChange("--gpus", "8", "2")])
    assert done == (f"{HEAD}#SBATCH -G2\n".encode(), ())


def test_a_change_stays_within_its_component() -> None:
    text = f"{HEAD}#SBATCH -n1 --mem=8G -t5\n#SBATCH hetjob\n#SBATCH -n2\n#SBATCH hetjob\n#SBATCH -n3 --mem=1G\n"
    first = rewritten(read_script(text), 0, [Change("--mem", "8G", "4G"), Change("--ntasks", "1", "2")])
    assert first.script.decode() == (
        f"{HEAD}#SBATCH -n2 --mem=4G -t5\n#SBATCH hetjob\n#SBATCH -n2\n#SBATCH --mem=8G\n"
        "#SBATCH hetjob\n#SBATCH -n3 --mem=1G\n"
    )
    second = rewritten(read_script(text), 1, [Change("--gpus", "", "2"), Change("--time", "00:05:00", "")])
    assert second.script.decode() == text.replace("-n2\n", "-n2\n#SBATCH --gpus=2\n")
    assert second.not_changed == (NotChanged("--time", "The value is inherited from an earlier component."),)


def test_what_a_later_component_would_inherit_is_not_added() -> None:
    text = f"{HEAD}#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\n"
    done = rewritten(read_script(text), 0, [Change("--mem", "", "4G"), Change("--gpus", "", "2")])
    assert done.script.decode() == text.replace("-n1\n", "-n1\n#SBATCH --gpus=2\n")
    assert done.not_changed == (NotChanged("--mem", "A later component would inherit it."),)


def test_what_comes_from_elsewhere_is_not_changed() -> None:
    text = f"{HEAD}#PBS -N a\n#SBATCH -G8 -t5 -N1\n"
    script = read_script(text, {"SBATCH_GPUS": "4"}, ["--time=9"])
    done = rewritten(
        script,
        0,
        [
            Change("--gpus", "4", "2"),
            Change("--time", "00:09:00", "00:20:00"),
            Change("--job-name", "a", "b"),
            Change("--nodes", "1", "2"),
        ],
    )
    assert done.script.decode() == text.replace("-N1", "-N2")
    assert done.not_changed == (
        NotChanged("--gpus", "The value comes from SBATCH_GPUS in the environment."),
        NotChanged("--time", "The value comes from the arguments of sbatch."),
        NotChanged("--job-name", "The value comes from line 2 (PBS)."),
    )


def test_values_that_slurm_refuses_or_that_break_lines_are_not_written() -> None:
    text = f"{HEAD}#SBATCH -n1\n"
    bad = [Change("--time", "", "1h"), Change("--comment", "", "a\nb"), Change("--gpuz", "", "2")]
    done = rewritten(read_script(text), 0, bad)
    assert done.script.decode() == text
    assert [each.option for each in done.not_changed] == ["--time", "--comment", "--gpuz"]
    assert [each.option for each in rewritten(read_script(text), 3, bad[:1]).not_changed] == ["--time"]


def test_a_value_with_blanks_is_quoted() -> None:
    done = rewritten(read_script(f"{HEAD}#SBATCH -J a\n"), 0, [Change("--job-name", "a", 'b "c" # d')])
    assert done.script.decode() == f'{HEAD}#SBATCH -J "b \\"c\\" # d"\n'


def test_the_difference_is_unified() -> None:
    before = f"{HEAD}#SBATCH -G8\ntrue\n".encode()
    assert unified_diff(before, before) == ""
    assert unified_diff(before, before.replace(b"G8", b"G2"), "new.sbatch").splitlines() == [
        "--- new.sbatch",
        "+++ new.sbatch",
        "@@ -1,3 +1,3 @@",
        " #!/bin/bash",
        "-#SBATCH -G8",
        "+#SBATCH -G2",
        " true",
    ]


def test_a_last_line_without_an_end_is_marked_as_diff_does() -> None:
    said = unified_diff(b"a\nb", b"a\nc", "new.sbatch")
    mark = "\\ No newline at end of file\n"
    assert said == f"--- new.sbatch\n+++ new.sbatch\n@@ -1,2 +1,2 @@\n a\n-b\n{mark}+c\n{mark}"


CHOICES = {
    "--gpus": ("2", "4", "mi250:8"),
    "--nodes": ("1", "2"),
    "--ntasks": ("8", "16"),
    "--cpus-per-task": ("4", "7"),
    "--mem": ("4G", "60G", "480G"),
    "--time": ("00:05:00", "1-06:00:00"),
    "--partition": ("small-g", "standard-g"),
    "--exclusive": ("user",),
}
LETTERS = {"--gpus": "-G", "--nodes": "-N", "--ntasks": "-n", "--cpus-per-task": "-c", "--time": "-t"}
assert LETTERS.keys() < CHOICES.keys()


@st.composite
def directives(draw: st.DrawFn) -> str:
    words = []
    for option in draw(st.lists(st.sampled_from(sorted(CHOICES)), min_size=1, max_size=3)):
        value = draw(st.sampled_from(CHOICES[option]))
        value = draw(st.sampled_from([value, f'"{value}"', f"'{value}'"]))
        spellings = [f"{option}={value}"]
        spellings += [f"{option} {value}"] if option != "--exclusive" else ["--exclusive"]
        spellings += [f"{LETTERS[option]}{value}", f"{LETTERS[option]} {value}"] if option in LETTERS else []
        words.append(draw(st.sampled_from(spellings)))
    return "#SBATCH " + draw(st.sampled_from([" ", "\t"])).join(words) + draw(st.sampled_from(["", " # note", "  "]))


@st.composite
def scripts(draw: st.DrawFn) -> str:
    lines = draw(st.lists(directives() | st.sampled_from(["", "# note", "#SBATCH hetjob", "#SBATCH"]), max_size=7))
    return "\n".join(["#!/bin/bash", *lines, "srun ./train", ""])


@settings(max_examples=40, deadline=None)
@given(
    scripts(),
    st.integers(0, 2),
    st.dictionaries(st.sampled_from(sorted(CHOICES)), st.integers(0, 3), min_size=1, max_size=4),
    st.booleans(),
)
def test_the_new_script_gives_exactly_the_wanted_options(
    text: str, index: int, picks: dict[str, int], is_dos: bool
) -> None:
    text = text.replace("\n", "\r\n") if is_dos else text
    script = read_script(text)
    assume(index < len(script.components))
    now = resource_options(script.components[index])
    changes = [
        Change(option, now.get(option, ""), "" if not pick else CHOICES[option][pick % len(CHOICES[option])])
        for option, pick in picks.items()
    ]
    done = rewritten(script, index, changes)
    missed = {each.option for each in done.not_changed}
    # Only what an earlier component sets cannot be left out here, and what a later one would inherit cannot be added.
    is_last = index + 1 == len(script.components)
    inherited = {f"--{name}" for name in script.components[index].inherited}
    assert missed <= inherited | (set() if is_last else {"--mem", "--time"})
    wanted = [dict(component.options) for component in script.components]
    for change in changes:
        name = change.option[2:]
        if change.option in missed:
            continue
        wanted[index].pop(name, None)
        if change.recommended:
            wanted[index][name] = change.recommended
    assert [component.options for component in read_script(done.script).components] == wanted
    # Nothing but directives changes, and no line keeps another end.
    others = [line for line in text.split("\n") if not line.startswith("#SBATCH")]
    assert [line for line in done.script.decode().split("\n") if not line.startswith("#SBATCH")] == others
