"""Texts of the hand-out of a lesson."""

TEXTS: dict[str, tuple[str, str]] = {
    "handout.name": ("Name:", "姓名："),
    "handout.date": ("Date:", "日期："),
    "handout.settings": ("Settings: {settings}", "设置：{settings}"),
    "handout.setting": ("{name}: {value}", "{name}：{value}"),
    "handout.on": ("on", "开"),
    "handout.off": ("off", "关"),
    "handout.why": ("Because:", "理由："),
    "handout.solutions": ("Solutions", "答案"),
    "handout.right": ("Right: {letter}", "正确答案：{letter}"),
    "handout.made": (
        "Made with Headscope. Every number in this file was computed when the file was made.",
        "由 Headscope 生成。文件里的每个数字都是生成时算出来的。",
    ),
    "handout.live": ("The live lesson with these settings:", "带有这些设置的在线课程："),
}
