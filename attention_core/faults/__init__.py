"""Known attention bugs, each committed for real: the catalogue that the doctor, the zoo and the lessons draw on.

A new fault is a function (situation, **parameters) -> Outcome in the module of its kind, a ``Fault`` with its texts in
that module's ``FAULTS``, and its id in ``catalogue.ORDER``.
"""

from attention_core.faults.catalogue import CATALOGUE, commit
from attention_core.faults.situation import CannotCommit, Fault, Outcome, Situation, correct

__all__ = ["CATALOGUE", "CannotCommit", "Fault", "Outcome", "Situation", "commit", "correct"]
