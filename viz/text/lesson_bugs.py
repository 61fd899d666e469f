"""Texts of lesson 14, find the bug."""

TEXTS: dict[str, tuple[str, str]] = {
    "lesson.bugs.round": ("Round", "轮次"),
    "lesson.bugs.round.help": (
        "One bug per round. Keys n and p go on and back.",
        "每轮一个错误。按 n 前进，按 p 后退。",
    ),
    **{f"lesson.bugs.round.{place}": (f"{place}", f"{place}") for place in range(1, 11)},
    "lesson.bugs.game": ("Game", "局"),
    "lesson.bugs.game.help": (
        "Each number is ten other bugs; the link keeps it, so a class can play the same game.",
        "每个数字是另外十个错误；链接会保留它，所以全班可以玩同一局。",
    ),
    "lesson.bugs.text": ("Sentence", "句子"),
    "lesson.bugs.text.help": ("The bugs are committed on it.", "错误发生在这句话上。"),
    "lesson.bugs.text.default": (
        "The cat sat on the mat and looked at the moon.",
        "小猫没有过街，因为它太累了。",
    ),
    "lesson.bugs.scene": (
        "**{scene}**, head {head}. Left: right. Right: the program with the bug.",
        "**{scene}**，头 {head}。左边：正确的；右边：有错误的程序。",
    ),
    "lesson.bugs.instead": ("{why} The sentence of the lesson is used.", "{why}改用本课的句子。"),
    "lesson.bugs.right": ("Right", "正确"),
    "lesson.bugs.wrong": ("With the bug", "有错误"),
    "lesson.bugs.rows": ("rows: queries", "行：查询"),
    "lesson.bugs.columns": ("columns: keys", "列：键"),
    "lesson.bugs.features": ("columns: features of the output", "列：输出的特征"),
    "lesson.bugs.map_alt": ("Attention of this round: {name}.", "本轮的注意力：{name}。"),
    "lesson.bugs.column_check": ("check of the program with the bug", "对有错误的程序的检查"),
    "lesson.bugs.column_result": ("result", "结果"),
    "lesson.bugs.check_passed": ("✓ passed", "✓ 通过"),
    "lesson.bugs.check_failed": ("✕ failed", "✕ 未通过"),
    "lesson.bugs.ask": ("Which bug is it?", "这是哪个错误？"),
    "lesson.bugs.not_this": ("That one would look like this: {symptom}", "那个错误看上去会是：{symptom}"),
    "lesson.bugs.fix": ("The way to write it: {fix}", "正确写法：{fix}"),
    "lesson.bugs.sums.ask": (
        "Rows sum to 1, nothing is NaN, no forbidden cell has weight. How many of the 42 bugs of this app pass all of that?",
        "每行之和为 1，没有 NaN，禁止的单元格没有权重。本应用的 42 个错误中，有多少能通过全部检查？",
    ),
    "lesson.bugs.sums.none": ("None", "一个也没有"),
    "lesson.bugs.sums.third": ("About a third", "约三分之一"),
    "lesson.bugs.sums.most": ("Nearly all", "几乎全部"),
    "lesson.bugs.sums.none.why": (
        "Whatever ends in a right softmax under the right mask passes: {count} of {all}, forgotten scaling among them.",
        "只要最后是正确掩码下的正确 softmax，就能通过：{all} 个中的 {count} 个，忘记缩放就是其一。",
    ),
    "lesson.bugs.sums.third.why": (
        "{count} of {all}: mostly those in the scores, the heads and the order of axes. Only a comparison finds these.",
        "{all} 个中的 {count} 个：多半出在分数、头和轴的顺序上。只有与正确结果比较才能发现。",
    ),
    "lesson.bugs.sums.most.why": (
        "Errors of the mask and of softmax do break a rule. {count} of {all} break none.",
        "掩码和 softmax 的错误确实会违反规则。{all} 个中有 {count} 个不违反。",
    ),
    "lesson.bugs.evidence.ask": (
        "Scaling was forgotten. What does the doctor need to name it?",
        "忘了缩放。诊断器需要什么才能指出来？",
    ),
    "lesson.bugs.evidence.weights": ("The weights alone", "只要权重"),
    "lesson.bugs.evidence.inputs": ("Queries and keys as well", "还要查询和键"),
    "lesson.bugs.evidence.never": ("It cannot be named", "无法指出"),
    "lesson.bugs.evidence.weights.why": (
        "Sharp weights may be right: another text would give them too. With the weights alone it names nothing.",
        "权重尖锐也可能是对的，换一段文本就会如此。只有权重时，诊断器什么也没指出。",
    ),
    "lesson.bugs.evidence.inputs.why": (
        "Then it computes what would come out without the factor, and finds these very weights.",
        "这样它就能算出不乘系数的结果，发现正好是这些权重。",
    ),
    "lesson.bugs.evidence.never.why": (
        "With queries and keys it computes the result without the factor, and finds these very weights.",
        "有了查询和键，它能算出不乘系数的结果，发现正好是这些权重。",
    ),
    "lesson.bugs.go": ("Open in Explore", "在探索页打开"),
    "lesson.bugs.go.why": (
        "The same sentence with scaling off: a bug to be watched while it happens. All 42 are on the page Bug zoo.",
        "同一句话，关闭缩放：看着错误发生。全部 42 个错误都在“错误图鉴”页。",
    ),
}
