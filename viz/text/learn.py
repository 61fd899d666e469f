"""Texts of the learn page that belong to no lesson."""

TEXTS: dict[str, tuple[str, str]] = {
    "learn.title": ("Learn", "课程"),
    "learn.lesson": ("Lesson", "课"),
    "learn.lesson_help": (
        "Each lesson takes five to ten minutes. Every figure and every answer is computed while you watch.",
        "每课五到十分钟。每幅图、每个答案都是当场算出来的。",
    ),
    "learn.back": ("Previous lesson", "上一课"),
    "learn.forward": ("Next lesson", "下一课"),
    "learn.step_back": ("Back", "上一步"),
    "learn.step_forward": ("Next", "下一步"),
    "learn.stage": ("Step {place} of {count}: {name}", "第 {place} 步，共 {count} 步：{name}"),
    "learn.progress": (
        "Lesson {place} of {count} · questions answered here: {here} of {here_asked}, in all: {right} of {asked}",
        "第 {place} 课，共 {count} 课 · 本课答对 {here} / {here_asked} 题，总共 {right} / {asked} 题",
    ),
    "learn.predict": ("Predict, then check", "先预测，再核对"),
    "learn.predict_first": (
        "The figure for this question appears once you have answered.",
        "回答上面的问题后，这里会出现对应的图。",
    ),
    "learn.show": ("Show it now", "直接显示"),
    "learn.check": ("Check", "核对"),
    "learn.right": ("Right. {why}", "正确。{why}"),
    "learn.wrong": ("Not so. {why} Choose again.", "不对。{why}请再选一次。"),
    "learn.score": (
        "Score: {right} of {asked} right at the first try, {count} rounds in all.",
        "得分：已答 {asked} 轮，其中 {right} 轮一次答对，共 {count} 轮。",
    ),
    "learn.link_too_long": (
        "The text is too long for the address bar; the link leaves it out.",
        "文本太长，地址栏放不下；链接里不含这段文本。",
    ),
    "learn.link_ignored": (
        "These settings of the link could not be used: {names}.",
        "链接中的这些设置无法使用：{names}。",
    ),
    "learn.teaching": ("For teaching", "用于教学"),
    "learn.link_says": (
        "The link opens this lesson with every setting and your sentence as they are now, in this language. Answers stay here.",
        "链接打开这一课，带上现在的每个设置、你的句子和当前语言；答题记录不在其中。",
    ),
    "learn.link_copy": ("Copy the link", "复制链接"),
    "learn.link_copied": ("Copied.", "已复制。"),
    "learn.link_by_hand": (
        "The browser did not allow copying: copy the marked text yourself.",
        "浏览器不允许复制：请自行复制选中的文字。",
    ),
    "learn.handout_says": (
        "The hand-out is one HTML file for paper: words, figures as set now, questions with room for answers. It needs no network (5 MB).",
        "讲义是一个可打印的 HTML 文件：正文、按当前设置画的图、留有作答空间的题目。打开时不需要网络（5 MB）。",
    ),
    "learn.handout_solutions": ("Solutions on the last page", "最后一页附答案"),
    "learn.handout": ("Download the hand-out", "下载讲义"),
    "learn.screen": ("{title} · screen {place} of {count}", "{title} · 第 {place} 屏，共 {count} 屏"),
    "learn.screen_back": ("Back", "上一屏"),
    "learn.screen_forward": ("Next", "下一屏"),
}
