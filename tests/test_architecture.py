"""The floors, the pure modules and the sizes of this house, read from the source itself."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent

# What each package may import of ours: only what stands below it.
MAY_IMPORT = {
    "portal": {"reports", "education", "analysis", "metrics", "jobs", "wire"},
    "reports": {"education", "analysis", "metrics", "jobs", "wire"},
    "education": {"analysis.findings", "jobs.work_queue"},
    "analysis": {"metrics", "jobs", "wire"},
    "metrics": {"wire"},
    "jobs": {"wire"},
    "cli": {"wire"},
    "collector": {"wire"},
    "wire": set(),
}
# What stands beside the product, and which of the others each may import. The product imports none of them.
BESIDE = {"demo": set(), "cases": {"demo"}, "bench": {"cases", "demo"}}
# What a pure module may import of others: numbers, pictures, tables, decoding at the border, and Markdown to safe HTML.
PURE_LIBRARIES = {"numpy", "matplotlib", "msgspec", "markdown_it", "nh3", "pyarrow"}
EDGE_NAMES = set(
    "models selectors services tasks views urls forms admin apps emails serializers slurm_client directory_client"
    " http_client management migrations templatetags".split()
)
CLOCK_CALLS = {"datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.monotonic"}
VAGUE_NAMES = {"utils", "util", "common", "helpers", "core", "manager", "misc"}
MODULE_LINES_MAX, FUNCTION_LINES_MAX = 400, 40
TEMPLATE_LINE_MAX = 320
"""As long as an element in a line of text gets that cannot be broken: white space within would show."""
NOT_LAID_OUT = (
    *("emails", "reports", "portal/_", "portal/compare", "portal/dashboard", "portal/history", "portal/job"),
    *("portal/projects", "portal/work"),
)
"""Mails and the PDF, whose white space is what people get, and pages that are not laid out yet."""


@dataclass(frozen=True)
class Module:
    """One source file of the product."""

    path: Path

    @property
    def name(self) -> str:
        return ".".join(self.path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")

    @property
    def package(self) -> str:
        return self.name.partition(".")[0]

    @property
    def is_edge(self) -> bool:
        return self.package in ("portal", "collector", "cli") or bool(EDGE_NAMES & set(self.name.split(".")[1:]))

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.path.read_text())

    @cached_property
    def imports(self) -> tuple[str, ...]:
        """Every imported name in full: `from jobs import records` is `jobs.records`."""
        return tuple(imported(self.tree))

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import at line {node.lineno}"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def is_below(name: str, allowed: set[str]) -> bool:
    return any(name == permitted or name.startswith(f"{permitted}.") for permitted in allowed)


MODULES = [Module(path) for package in MAY_IMPORT for path in sorted((ROOT / package).rglob("*.py"))]
PURE = [module for module in MODULES if not module.is_edge]
OWN = set(MAY_IMPORT)


def each(things: Iterable[Any]) -> Callable[[Callable[[Any], None]], Callable[[], None]]:
    """One test of a rule for all of these: as a test each, they would be every third test of the suite."""

    def of_rule(rule: Callable[[Any], None]) -> Callable[[], None]:
        def test() -> None:
            broken = []
            for thing in things:
                try:
                    rule(thing)
                except AssertionError as error:
                    broken.append(f"{getattr(thing, 'name', thing)}: {error}")
            assert not broken, "\n\n".join(broken)

        test.__doc__ = rule.__doc__
        return test

    return of_rule


each_module, each_pure_module = each(MODULES), each(PURE)


def test_every_package_of_the_house_is_there() -> None:
    assert {module.package for module in MODULES} == OWN


@each_module
def test_imports_point_down(module: Module) -> None:
    ours = [name for name in module.imports if name.partition(".")[0] in OWN - {module.package}]
    assert [name for name in ours if not is_below(name, MAY_IMPORT[module.package])] == []


@each_module
def test_nothing_of_the_product_imports_its_tests(module: Module) -> None:
    assert [name for name in module.imports if name.partition(".")[0] in {"tests", *BESIDE}] == []


@each([Module(path) for package in BESIDE for path in sorted((ROOT / package).rglob("*.py"))])
def test_the_demo_knows_no_scorecard_and_neither_knows_a_benchmark(module: Module) -> None:
    beside = {name.partition(".")[0] for name in module.imports} & set(BESIDE) - {module.package}
    assert beside <= BESIDE[module.package]


@each_pure_module
def test_a_pure_module_imports_no_framework_and_no_edge(module: Module) -> None:
    foreign = [name for name in module.imports if name.partition(".")[0] not in OWN | sys.stdlib_module_names]
    assert [name for name in foreign if name.partition(".")[0] not in PURE_LIBRARIES] == []
    ours = [name for name in module.imports if name.partition(".")[0] in OWN]
    assert [name for name in ours if EDGE_NAMES & set(name.split(".")[1:])] == []


@each_pure_module
def test_a_pure_module_asks_no_clock(module: Module) -> None:
    calls = (ast.unparse(node.func) for node in ast.walk(module.tree) if isinstance(node, ast.Call))
    assert [call for call in calls if any(call.endswith(clock) for clock in CLOCK_CALLS)] == []


@each([module for module in MODULES if module.package in ("collector", "cli", "wire")])
def test_what_runs_on_nodes_and_in_terminals_needs_the_standard_library_only(module: Module) -> None:
    foreign = {name.partition(".")[0] for name in module.imports} - set(sys.stdlib_module_names) - OWN
    assert foreign == set()


@each_module
def test_nothing_is_imported_inside_a_function(module: Module) -> None:
    assert [function.name for function in module.functions() if list(imported(function))] == []


PAGES = sorted(path.name for path in (ROOT / "portal/pages").iterdir() if list(path.glob("*.py")))
each_page = each(PAGES)


@each_page
def test_a_page_imports_no_other_page(page: str) -> None:
    """What two pages share is in `portal/charts` or a part of a template; how a page is reached, `portal/urls` says."""
    own = f"portal.pages.{page}"
    modules = [module for module in MODULES if module.name == own or module.name.startswith(f"{own}.")]
    assert modules
    others = [name for module in modules for name in module.imports if name.startswith("portal.pages.")]
    assert [name for name in others if not is_below(name, {own})] == []


@each_page
def test_the_templates_of_a_page_are_in_its_folder(page: str) -> None:
    """A page renders its own templates and shared parts, which stand beside the folders."""
    own = [module for module in MODULES if module.name.startswith(f"portal.pages.{page}.")]
    named = {name for module in own for name in re.findall(r'"(portal/[\w/]+\.html)"', module.path.read_text())}
    elsewhere = [name for name in named if name.count("/") > 1 and not name.startswith(f"portal/{page}/")]
    assert elsewhere == []
    assert all((ROOT / "templates" / name).is_file() for name in named)


@pytest.mark.parametrize("folder", ["templates/portal", "tests/portal"])
def test_folders_beside_the_pages_mirror_them(folder: str) -> None:
    """Each folder there is a page's, or that of a package of the portal."""
    mirrored = {path.name for path in (ROOT / folder).iterdir() if path.is_dir() and list(path.rglob("*.*"))}
    packages = {path.name for path in (ROOT / "portal").iterdir() if path.is_dir()}
    assert mirrored - set(PAGES) - packages - {"__pycache__", "serving"} == set()


@each_module
def test_modules_and_functions_stay_small(module: Module) -> None:
    if "migrations" in module.name:
        return
    assert len(module.path.read_text().splitlines()) <= MODULE_LINES_MAX
    long = [f.name for f in module.functions() if (f.end_lineno or 0) - f.lineno + 1 > FUNCTION_LINES_MAX]
    assert long == []


@each_module
def test_a_module_says_what_it_is_and_has_a_telling_name(module: Module) -> None:
    is_empty = not module.tree.body
    is_package = module.path.name == "__init__.py"
    assert not VAGUE_NAMES & set(module.name.split("."))
    assert (is_package and is_empty) or "migrations" in module.name or ast.get_docstring(module.tree)
    has_docstring_alone = len(module.tree.body) == 1 and ast.get_docstring(module.tree)
    assert not is_package or is_empty or has_docstring_alone or module.name == "portal"


@each_module
def test_no_signals_are_used(module: Module) -> None:
    assert [name for name in module.imports if name.startswith("django.db.models.signals")] == []


@each(sorted((ROOT / "templates").rglob("*.html")))
def test_a_template_can_be_reviewed_line_by_line(template: Path) -> None:
    if not str(template.relative_to(ROOT / "templates")).startswith(NOT_LAID_OUT):
        assert [line for line in template.read_text().splitlines() if len(line) > TEMPLATE_LINE_MAX] == []


def test_the_product_requires_what_it_imports_and_nothing_for_tests_alone() -> None:
    """Each line of requirements.txt is imported by the product, named in its settings, or an extra of one that is."""
    wanted = [line.split("==")[0].split("[")[0] for line in (ROOT / "requirements.txt").read_text().splitlines()]
    imported_here = {name.partition(".")[0] for module in MODULES for name in module.imports}
    settings = (ROOT / "portal/settings.py").read_text()
    provided: dict[str, set[str]] = {}
    for module_name, distributions in packages_distributions().items():
        for distribution in distributions:
            provided.setdefault(distribution.lower(), set()).add(module_name)
    used = imported_here | {
        name for names in provided.values() for name in names if re.search(f'"{name}[."]', settings)
    }
    assert [name for name in wanted if name and name[0] != "#" and not provided[name.lower()] & used] == []
