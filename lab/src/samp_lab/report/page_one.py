"""Page one of the report: every claim of the paper once, with what was found under both readings, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from samp.lookup import look_up
from samp_lab.paper_claims import CLAIMS, PaperClaim
from samp_lab.readings import READINGS
from samp_lab.report.chapter import Chapter
from samp_lab.report.remarks import read_text
from samp_lab.report.texts import PLURALS, SIGNS, STATES
from samp_lab.sections import Grid, State, Verdict
from samp_lab.statistics import state_of_all, state_of_most

HEADS = ("claim", "where", "the paper", "text", "authors", "verdict", "other nets", "why")
SHORT = 34  # letters: a measured value up to this long is shown itself
UNLIKE = "≠ by reading"
ELSEWHERE = "– not with the paper's net"


@dataclass(frozen=True)
class ClaimLine:
    """A claim of the paper with all verdicts on it.

    >>> line = ClaimLine("time", CLAIMS["time"], (Verdict("a", "+1", "+1", "holds", part="time"),), "", "table7")
    >>> line.state("text"), line.state("authors"), line.verdict
    ('holds', 'missing', '✓ holds')
    """

    key: str
    claim: PaperClaim
    verdicts: tuple[Verdict, ...]
    why: str
    anchor: str
    """The chapter with most of its verdicts; "" if nobody judged it."""

    def main(self, reading: str) -> list[Verdict]:
        """Return the verdicts that decide under a reading."""
        return [one for one in self.verdicts if one.main and one.reading == reading and one.state != "missing"]

    def state(self, reading: str) -> State:
        """Return the state under a reading."""
        return self._state_of(self.main(reading))

    @property
    def overall(self) -> State | None:
        """The state by all verdicts; None where the readings disagree on the same data."""
        shared = set.intersection(*({_data_of(one) for one in self.main(reading)} for reading in READINGS))
        found = [self._state_of([v for v in self.main(one) if _data_of(v) in shared]) for one in READINGS]
        if set(found) == {"holds", "fails"}:
            return None
        return self._state_of([one for reading in READINGS for one in self.main(reading)])

    @property
    def verdict(self) -> str:
        """The verdict in words."""
        if self.overall is None:
            return UNLIKE
        if self.overall == "missing" and self.other_nets != "–":
            return ELSEWHERE
        return f"{SIGNS[self.overall]} {STATES[self.overall]}"

    def _state_of(self, verdicts: Sequence[Verdict]) -> State:
        """Return the state of the claim by these verdicts: it holds where all do, or most if it says "most"."""
        if not verdicts:
            return "missing"
        rule = state_of_most if self.claim.in_most_cases else state_of_all
        return rule([one.state for one in verdicts])

    @property
    def other_nets(self) -> str:
        """How many verdicts on other nets and training seeds hold; "–" for none."""
        others = [one for one in self.verdicts if not one.main and one.state != "missing"]
        return f"{sum(one.state == 'holds' for one in others)} of {len(others)} hold" if others else "–"


def _data_of(verdict: Verdict) -> str:
    """Return the data set of a verdict: what its setup's title has before the net."""
    return verdict.setup.partition(",")[0]


def gather_claims(chapters: Sequence[Chapter], whys: Mapping[str, str]) -> tuple[ClaimLine, ...]:
    """Return a line for every claim of the paper, from the verdicts of all chapters.

    Raises ValueError if a verdict names a claim that is not in `samp_lab.paper_claims`.

    >>> [line.verdict for line in gather_claims([], {})][:2]
    ['– not measured', '– not measured']
    """
    found: dict[str, list[tuple[Chapter, Verdict]]] = {key: [] for key in CLAIMS}
    for chapter in chapters:
        for verdict in chapter.section.verdicts:
            if verdict.part:
                look_up(verdict.part, CLAIMS, "claim of the paper")
                found[verdict.part].append((chapter, verdict))
    return tuple(
        ClaimLine(key, CLAIMS[key], tuple(one for _, one in pairs), whys.get(key, ""), _main_anchor(pairs))
        for key, pairs in found.items()
    )


def _main_anchor(pairs: Sequence[tuple[Chapter, Verdict]]) -> str:
    return Counter(chapter.anchor for chapter, _ in pairs).most_common(1)[0][0] if pairs else ""


def read_whys(path: Path) -> dict[str, str]:
    """Return the sentence on each claim from a file with lines `key: sentence`; empty if there is no file.

    Raises ValueError for a line without a key and for an unknown key.

    >>> read_whys(Path("no such file.md"))
    {}
    """
    found: dict[str, str] = {}
    for line in filter(None, map(str.strip, read_text(path).splitlines())):
        key, colon, sentence = line.partition(":")
        if not colon:
            raise ValueError(f"{path} has the line {line!r}: write `key: sentence`, one line for each claim.")
        if key not in CLAIMS:
            raise ValueError(
                f"{path} explains {key!r}, which is no claim of the paper: the keys are {', '.join(CLAIMS)}."
            )
        found[key] = sentence.strip()
    return found


def claims_table(lines: Sequence[ClaimLine]) -> Grid:
    """Return the table of page one.

    >>> claims_table(gather_claims([], {"path-count": "By counting."})).rows[2][2:]
    ('–', '–', '–', '– not measured', '–', 'By counting.')
    """
    rows = tuple(
        (
            line.claim.words,
            line.claim.where,
            _paper_words(line),
            _found_words(line, "text"),
            _found_words(line, "authors"),
            line.verdict,
            line.other_nets,
            line.why,
        )
        for line in lines
    )
    return Grid(HEADS, rows, "The paper's claims")


def _paper_words(line: ClaimLine) -> str:
    """Return the paper's number or words, if its verdicts agree on a short one, else how many comparisons there are."""
    said = list(dict.fromkeys(one.paper for one in line.verdicts if one.paper not in ("", "–")))
    if len(said) == 1 and len(said[0]) <= SHORT:
        return said[0]
    compared = {(one.claim, one.paper) for one in line.verdicts}
    return f"{len(compared)} comparisons" if len(compared) > 1 else "–"


def _found_words(line: ClaimLine, reading: str) -> str:
    """Return what was found under a reading: the number of a single verdict, or how many hold."""
    found = line.main(reading)
    if not found:
        return "–"
    sign = SIGNS[line.state(reading)]
    if len(found) == 1:
        value = found[0].ours.partition(", p =")[0]
        return f"{sign} {value if len(value) <= SHORT else STATES[found[0].state]}"
    counts = Counter(one.state for one in found)
    unlike: tuple[State, ...] = ("open", "fails")
    rest = [f"{n} {(STATES if n == 1 else PLURALS)[state]}" for state in unlike if (n := counts[state])]
    return f"{sign} {counts['holds']} of {len(found)} hold" + (f" ({', '.join(rest)})" if rest else "")


def claims_sentence(lines: Sequence[ClaimLine]) -> str:
    """Return a sentence on how many claims of the paper hold.

    >>> claims_sentence(gather_claims([], {}))[:60]
    'Of 27 claims of the paper, 0 hold, 0 are open, 0 fail and 0 '
    """
    counts = Counter(line.verdict for line in lines)
    words = {state: counts[f"{SIGNS[state]} {STATES[state]}"] for state in SIGNS}
    parts = [
        _agree(words["holds"], "holds", "hold"),
        _agree(words["open"], "is open", "are open"),
        f"{_agree(words['fails'], 'fails', 'fail')} and {_agree(counts[UNLIKE], 'depends', 'depend')} on the reading",
    ]
    rest = _agree(
        words["missing"] + counts[ELSEWHERE],
        "was not measured with the paper's net",
        "were not measured with the paper's net",
    )
    return f"Of {len(lines)} claims of the paper, {', '.join(parts)}; {rest}."


def _agree(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"
