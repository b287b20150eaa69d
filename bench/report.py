"""Reports per minute on one core, and where the time goes: figures, HTML, PDF.

The limit of a PDF is the bare time that WeasyPrint takes for the same HTML, in the same run. Run by `make bench`.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from weasyprint import HTML  # noqa: E402

from reports.figures import draw  # noqa: E402
from reports.markdown import report_markdown  # noqa: E402
from reports.services.pdf import print_html, report_pdf  # noqa: E402
from reports.services.rendering import report_html  # noqa: E402
from reports.text import report_text  # noqa: E402
from tests.payloads import gpu  # noqa: E402
from tests.reports.builders import figures_of, report  # noqa: E402

REPEATS = 15
GPUS = [gpu(index, 88.0 if index < 2 else 12.0) for index in range(8)]


def cpu_s(step: Callable[[], object]) -> float:
    """Median CPU seconds of a step after one that does not count."""
    times = []
    for _ in range(REPEATS + 1):
        start = time.process_time()
        step()
        times.append(time.process_time() - start)
    return sorted(times[1:])[REPEATS // 2]


def main() -> None:
    value, data = report(GPUS), figures_of(GPUS)
    figures = {name: draw(name, data) for name in value.figures}
    html = print_html(value, figures)
    figures_s = cpu_s(lambda: [draw(name, data) for name in value.figures])
    html_s = cpu_s(lambda: report_html(value, figures))
    bare_s = cpu_s(lambda: HTML(string=html).write_pdf(pdf_variant="pdf/ua-1"))
    pdf_s = cpu_s(lambda: report_pdf(value, figures))
    plain_s = cpu_s(lambda: (report_text(value), report_markdown(value)))
    whole_s = figures_s + pdf_s
    print("one report of eight GPUs, CPU time on one core")
    share = figures_s / whole_s
    print(f"  {len(value.figures)} figures {figures_s * 1e3:7.1f} ms   {share:5.2f} of figures and PDF (<= 0.33)")
    print(f"  HTML      {html_s * 1e3:7.1f} ms")
    print(
        f"  PDF       {pdf_s * 1e3:7.1f} ms   {pdf_s / bare_s:5.2f} x WeasyPrint bare, {bare_s * 1e3:.1f} ms (<= 1.5)"
    )
    print(f"  text, Markdown {plain_s * 1e3:.1f} ms")
    print(
        f"  figures and PDF: {60 / whole_s:.0f} reports a minute; {len(report_pdf(value, figures)) / 1e3:.0f} kB each"
    )


if __name__ == "__main__":
    main()
