"""The views of the explore page by name, for their chooser."""

TEXTS: dict[str, tuple[str, str]] = {
    "view.chooser": ("View", "视图"),
    "view.chooser_help": (
        "How the attention is drawn; the computation, the text and the switches stay the same.",
        "注意力的绘制方式；计算、文本和开关保持不变。",
    ),
    "view.heads": ("Heads of a layer", "一层的各头"),
}
