"""Ten rounds of the bug zoo, and what the catalogue as a whole says about checks and evidence."""

from collections.abc import Sequence
from functools import lru_cache

from attention_core.doctor import diagnose
from attention_core.faults import CATALOGUE
from viz.services.bug_zoo import FAULTS, Exhibit, ZooError, choices, exhibit, hidden, verdict
from viz.services.bug_zoo_scenes import stage

__all__ = ["FAULTS", "Exhibit", "ZooError"]

ROUNDS = 10
GAMES = tuple(range(100))
_SILENT = "no-scaling"


def shown(game: int, place: int, text: str) -> Exhibit:
    """The fault of a round, committed on a text; ZooError where it cannot be shown on it.

    Args:
        game: of ``GAMES``.
        place: from 0 to ``ROUNDS`` - 1.
        text: any.
    """
    return exhibit(hidden(_question(game, place)), text, 0)


def answers(game: int, place: int, text: str) -> tuple[str, ...]:
    """Four faults, one of them the one that is shown; ZooError as ``shown``."""
    return choices(_question(game, place), text, 0)


def solution(game: int) -> tuple[str, ...]:
    """The faults of a game, in order."""
    return tuple(hidden(_question(game, place)) for place in range(ROUNDS))


@lru_cache(maxsize=2)
def unseen(text: str) -> tuple[int, int]:
    """How many faults no check of the rows objects to, and how many there are."""
    found = [exhibit(fault, text, 0) for fault in FAULTS]
    return sum(all(check.status != "failed" for check in one.checks) for one in found), len(found)


@lru_cache(maxsize=2)
def named(text: str) -> tuple[Sequence[str], Sequence[str]]:
    """What the doctor calls forgotten scaling: from the weights and the mask, and with Q and K besides."""
    staged = stage(_SILENT, text, 0)
    assert _SILENT in CATALOGUE
    alone = diagnose(weights=staged.outcome.weights, allowed=staged.situation.allowed)
    return alone.explained_by, verdict(_SILENT, text, 0).explained_by


def _question(game: int, place: int) -> int:
    return game * ROUNDS + place
