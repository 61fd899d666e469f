"""The view of two beside each other."""

TEXTS: dict[str, tuple[str, str]] = {
    "view.compare": ("Compare", "对比"),
    "compare.against": ("Compare with (A)", "对比对象 (A)"),
    "compare.against_help": (
        "What A is. B is always the present state: this text, these switches, the chosen layer and head.",
        "A 是什么。B 始终是当前状态：当前文本、开关以及所选的层与头。",
    ),
    "compare.neutral": ("The model as it is", "原模型"),
    "compare.kept": ("A kept state", "保留的状态"),
    "compare.text": ("Another text", "另一文本"),
    "compare.head": ("Another head", "另一个头"),
    "compare.model": ("Another model", "另一模型"),
    "compare.own_head": ("Head of B", "B 的头"),
    "compare.head_help": ("Which head is B, counted from 0.", "哪一个头作为 B，从 0 开始编号。"),
    "compare.about_neutral": (
        "A is the same text with every switch as in the model, B is the present state.",
        "A 为同一文本、所有开关与模型一致；B 为当前状态。",
    ),
    "compare.about_neutral_scratch": (
        "A is the same text with the usual scaling and no mask, B is the present state.",
        "A 为同一文本、通常的缩放、无掩码；B 为当前状态。",
    ),
    "compare.nothing_switched": (
        "Every switch is as in the model, so A and B are one. Change a switch, or compare with something else.",
        "所有开关均与模型一致，A 与 B 相同。请改变某个开关，或选择其他对比对象。",
    ),
    "compare.keep": ("Keep this as A", "将此保留为 A"),
    "compare.keep_help": (
        "Keeps text, source, switches, layer and head as they are now; then change anything and see the difference.",
        "保留当前的文本、来源、开关、层与头；之后改变任何设置即可看到差异。",
    ),
    "compare.forget": ("Forget A", "清除 A"),
    "compare.nothing_kept": (
        "Nothing is kept yet. Keep the present state as A, then change a switch, the text or the head.",
        "尚未保留任何状态。请先将当前状态保留为 A，再改变开关、文本或头。",
    ),
    "compare.other_text": ("Text of A", "A 的文本"),
    "compare.other_text_help": (
        "Runs with the same switches, layer and head. With as many tokens, cells are compared by position.",
        "以相同的开关、层与头运行。词元数相同时，按位置逐格比较。",
    ),
    "compare.no_text": ("Type a text for A.", "请输入 A 的文本。"),
    "compare.other_layer": ("Layer of A", "A 的层"),
    "compare.other_head": ("Head of A", "A 的头"),
    "compare.other_source": ("Model of A", "A 的模型"),
    "compare.other_source_help": (
        "Only models that are on this machine; choose one as the source once to bring it here.",
        "仅列出本机已有的模型；先将某个模型选为来源即可取得它。",
    ),
    "compare.about_model": (
        "A reads the same text with every switch as in that model.",
        "A 以该模型自身的设置读取同一文本。",
    ),
    "compare.no_model": ("There is no other model on this machine.", "本机没有其他模型。"),
    "compare.refused": ("A could not be computed: {reason}", "无法计算 A：{reason}"),
    "compare.quoted": ("“{text}”", "“{text}”"),
    "compare.difference": ("B − A", "B − A"),
    "compare.chart": ("Weights compared: {which}", "权重对比：{which}"),
    "compare.first_alt": ("Weights of A as a heatmap, fixed 0 to 1.", "A 的权重热图，固定 0 到 1。"),
    "compare.second_alt": ("Weights of B as a heatmap, fixed 0 to 1.", "B 的权重热图，固定 0 到 1。"),
    "compare.difference_alt": (
        "Weights of B minus A, centred on 0. The largest differences are listed below.",
        "B 减 A 的权重差，以 0 为中心。最大的差异列在下方。",
    ),
    "compare.no_cells": (
        "A has {first} tokens and B has {second}: no cell of one belongs to a cell of the other, so there is no difference map. "
        "The numbers below compare them as wholes.",
        "A 有 {first} 个词元，B 有 {second} 个：两者的格子无法一一对应，因此没有差异图。下方的数值从整体上比较二者。",
    ),
    "compare.by_position": (
        "Compared by position: {unlike} tokens differ at their place, so a difference mixes position and token.",
        "按位置比较：有 {unlike} 个位置上的词元不同，差异中同时包含位置与词元的影响。",
    ),
    "compare.largest": ("Largest differences", "最大的差异"),
    "compare.same": ("All {total} cells are the same, up to rounding.", "全部 {total} 格在舍入范围内相同。"),
    "compare.cells": (
        "{cells} of {total} cells differ by more than rounding.",
        "{total} 格中有 {cells} 格的差异超出舍入。",
    ),
    "compare.line": (
        "row {row} → key {key}: {first} → {second}, {change}",
        "行 {row} → 键 {key}：{first} → {second}，{change}",
    ),
    "compare.two_tokens": ("{first} / {second}", "{first} / {second}"),
    "compare.numbers": ("In numbers", "数值"),
}
