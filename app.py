"""Headscope's list of pages. ``make run`` starts it; ``streamlit run app.py`` does so in a ready environment."""

from viz.pages import (
    bug_zoo,
    bug_zoo_state,
    debug,
    debug_leaks,
    debug_state,
    explore,
    explore_state,
    frame,
    learn,
    learn_state,
    mask_lab,
    mask_lab_state,
    train,
    train_state,
)

frame.show(
    [
        frame.Page("explore", explore.render, tuple(map(explore_state.key, explore_state.SETTINGS))),
        frame.Page("learn", learn.render, learn_state.KEPT),
        frame.Page("mask_lab", mask_lab.render, mask_lab_state.KEPT),
        frame.Page("train", train.render, train_state.KEPT),
        frame.Page("bug_zoo", bug_zoo.render, bug_zoo_state.KEPT),
        frame.Page(
            "debug", debug.render, (*debug_state.KEPT, *debug_leaks.KEPT), home=debug_state.opened_with_a_file()
        ),
    ]
)
