"""The course: what is live in each lesson. The words are in ``assets/lessons``, the numbers come from ``viz.services``.

How a lesson is added, say number 9, ``softmax``:

1. ``viz/services/lessons_softmax.py``: cached functions that call ``attention_core`` and return arrays and numbers.
2. ``viz/text/lesson_softmax.py``: ``TEXTS`` with every string that is not prose, registered in ``viz.text``:
   ``lesson.softmax.<switch>`` with ``.help`` and ``.<code>`` for each code that is a word, ``.default`` of a Sentence;
   ``lesson.softmax.<question>.ask``, ``.<code>`` and ``.<code>.why`` for each answer; ``lesson.softmax.go`` (button)
   and ``.go.why`` (line above it); whatever its parts say. Placeholders take ``Asked.values``.
3. ``viz/lessons/softmax.py``: ``LESSON``, of ``Part``, ``Question`` and ``Destination`` (see ``lesson.py``). A part
   is a function of the settings that returns ``Chart``, ``Say``, ``Sum``, ``Table`` and ``Beside``; switches belong to
   one part each. A question computes its answer by the core when asked. No Streamlit here, no arithmetic on results.
4. ``assets/lessons/en/09_softmax.md`` and ``zh/09_softmax.md``: the title (``# Title``), prose in Markdown with
   ``$LaTeX$``, and each slot once on a line of its own: ``[[part name]]``, ``[[question name]]``, the same in both.
5. Its module in ``LESSONS`` below.

``tests/pages/test_lessons.py`` then walks through it in both languages, asks for every text, answers each question
right and wrong, presses the last button, and breaks the core to see figures and answers change.
"""

from viz.lessons import (
    bill,
    block,
    bugs,
    cache,
    checklist,
    cross,
    heads,
    lookup,
    masks,
    order,
    paths,
    reading,
    scaling,
    softmax,
    steps,
)
from viz.lessons.lesson import Lesson

LESSONS: tuple[Lesson, ...] = tuple(
    module.LESSON
    for module in (
        paths,
        lookup,
        steps,
        scaling,
        masks,
        heads,
        cross,
        order,
        softmax,
        block,
        cache,
        bill,
        reading,
        bugs,
        checklist,
    )
)  # in the order of the course
