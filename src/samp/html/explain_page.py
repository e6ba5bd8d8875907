"""One self-contained HTML page of an explanation: its pictures and its numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import PurePath
from typing import Any

from PIL import Image

from samp.html.embed import as_json, content_security_policy, data_uri
from samp.html.facts import lines, notes, title
from samp.models import Classifier

Panels = Sequence[tuple[Image.Image, str]]  # pictures with their captions
STYLE = """
:root { color-scheme: light dark; --ink: #1e1e1e; --faint: #5f5f5f; --paper: #fff; --line: #ddd; }
@media (prefers-color-scheme: dark) { :root { --ink: #eee; --faint: #aaa; --paper: #16181c; --line: #3a3d44; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 0 auto;
       max-width: 1464px; padding: 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin: 2rem 0 .5rem; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(200px, 1fr)); gap: 1rem; }
figure { margin: 0; } figcaption { font-size: .9rem; } img { width: 100%; height: auto; border-radius: 4px; }
table { border-collapse: collapse; margin: .5rem 0; }
th { text-align: left; vertical-align: top; white-space: nowrap; }
td, th { padding: .25rem 1rem .25rem 0; border-bottom: 1px solid var(--line); }
.notes, footer { color: var(--faint); font-size: .85rem; } footer { margin-top: 2rem; }
"""


def explanation_page(panels: Sequence[Panels], records: Sequence[dict[str, Any]], classifier: Classifier) -> str:
    """The page of one photo, a section for each class; it needs no network and runs no script; all text is escaped."""
    name = escape(PurePath(records[0]["photo"]).name)
    sections = [_section(some, one, classifier) for some, one in zip(panels, records, strict=True)]
    versions = ", ".join(f"{package} {version}" for package, version in records[0]["versions"].items())
    made = escape(f"{versions}; {records[0]['device']}, {records[0]['dtype']}, seed {records[0]['seed']}")
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{content_security_policy("", STYLE)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}: why?</title>
<style>{STYLE}</style>
</head>
<body>
<h1>What {escape(classifier.name)} sees in {name}</h1>
{"".join(sections)}
<h2>Best classes</h2>
{_table([(one["class"], _score(one["score"])) for one in records[0]["best"]])}
<footer>{made}</footer>
<script type="application/json" id="facts">{as_json(records)}</script>
</body>
</html>
"""


def _section(panels: Panels, record: dict[str, Any], classifier: Classifier) -> str:
    figures = "".join(_figure(image, caption) for image, caption in panels)
    below = "".join(f"<p class='notes'>{escape(note)}</p>" for note in notes(record, classifier)[:1])
    numbers = {name: words for name, words in lines(record).items() if name != "method"}
    return f"""<section>
<h2>{escape(title(record))}</h2>
<div class="panels">{figures}</div>
{_table(numbers.items())}
{below}
</section>
"""


def _figure(image: Image.Image, caption: str) -> str:
    words = escape(caption)
    return f'<figure><img src="{data_uri(image)}" alt="{words}"><figcaption>{words}</figcaption></figure>'


def _score(score: float | None) -> str:
    return "–" if score is None else f"{score:.3f}"  # some nets rule out classes by −∞


def _table(rows: Iterable[tuple[str, str]]) -> str:
    """Names may come twice: ImageNet has two maillots and two cranes."""
    cells = (f"<tr><th scope='row'>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    return f"<table>{''.join(cells)}</table>"
