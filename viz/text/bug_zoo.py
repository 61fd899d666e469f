"""Texts of the bug zoo, but for those of the faults themselves."""

TEXTS: dict[str, tuple[str, str]] = {
    "bug_zoo.title": ("Bug zoo", "错误图鉴"),
    "bug_zoo.line": (
        "{count} known mistakes in attention, each committed for real on your own text. See right beside wrong, or guess.",
        "{count} 种已知的注意力错误，每一种都在你的文本上真实重现。对照正确与错误，或先猜后看。",
    ),
    # Which
    "bug_zoo.mode": ("Visit", "方式"),
    "bug_zoo.mode_help": (
        "Look: every mistake with its name. Guess: the name is hidden and you choose among four.",
        "观看：显示错误的名称。竞猜：隐藏名称，由你从四个选项中选择。",
    ),
    "bug_zoo.mode_browse": ("Look", "观看"),
    "bug_zoo.mode_exercise": ("Guess", "竞猜"),
    "bug_zoo.fault": ("Mistake", "错误"),
    "bug_zoo.fault_help": (
        "Type to search. The order is that in which the doctor tries them.",
        "可输入文字搜索。排列顺序即医生逐一检验的顺序。",
    ),
    "bug_zoo.in_list": ("{family}: {title}", "{family}：{title}"),
    "bug_zoo.surprise": ("Surprise me", "随机一题"),
    "bug_zoo.surprise_help": (
        "A mistake without its name. Over {count} questions in a row each comes about once.",
        "出示一个不带名称的错误。连续 {count} 题中，每种错误大约出现一次。",
    ),
    "bug_zoo.family_scaling": ("Scaling", "缩放"),
    "bug_zoo.family_heads": ("Heads and axes", "头与轴"),
    "bug_zoo.family_softmax": ("Softmax", "Softmax"),
    "bug_zoo.family_masking": ("Masking", "掩码"),
    "bug_zoo.family_numerics": ("Number range", "数值范围"),
    "bug_zoo.family_padding": ("Padding", "填充"),
    "bug_zoo.family_sequence": ("Positions", "位置"),
    # Controls
    "bug_zoo.text": ("Text", "文本"),
    "bug_zoo.text_help": (
        "Its words are the tokens. Where a mistake needs a second, shorter sample, it is the first half of the text.",
        "按词切分为词元。若某种错误需要第二个较短的样本，则取文本的前一半。",
    ),
    "bug_zoo.seed": ("Seed", "种子"),
    "bug_zoo.seed_help": (
        "Of the random embeddings and weights behind Q, K and V.",
        "生成 Q、K、V 的随机嵌入与权重所用的种子。",
    ),
    "bug_zoo.head": ("Head", "头"),
    "bug_zoo.head_help": (
        "Which head is on screen. Auto: the one in which the mistake shows most.",
        "显示哪个头。自动：差异最大的头。",
    ),
    "bug_zoo.head_strongest": ("Auto", "自动"),
    "bug_zoo.link_too_long": (
        "The text is too long for a link: the link to this page leaves it out.",
        "文本太长，无法放进链接：本页链接不含文本。",
    ),
    "bug_zoo.link_ignored": (
        "The link holds values that cannot be used, left at their defaults: {names}",
        "链接中有无法使用的值，已改用默认值：{names}",
    ),
    "bug_zoo.error_no_tokens": (
        "A text needs at least one word to be looked at: this one has none. Type a word.",
        "文本至少需要一个词：当前文本没有。请输入一个词。",
    ),
    "bug_zoo.error_no_change": (
        "This mistake changes nothing on this text: it is too short, or its words are all the same. "
        "Type a few different words more.",
        "这种错误在这段文本上不会造成任何变化：文本太短，或词全都相同。请再输入几个不同的词。",
    ),
    "bug_zoo.kept": ("The pictures below are of the text before.", "下面的图仍是上一段文本的结果。"),
    # What was run
    "bug_zoo.run": (
        "from-scratch core, {heads} heads, d_k {d_k}, seed {seed}, {dtype}",
        "从零实现的核心，{heads} 个头，d_k {d_k}，种子 {seed}，{dtype}",
    ),
    "bug_zoo.where": ("shown: head {head}", "显示：头 {head}"),
    "bug_zoo.where_sample": (
        "shown: head {head} of sample {sample} (0 to {last})",
        "显示：样本 {sample}（0 至 {last}）的头 {head}",
    ),
    "bug_zoo.synthetic": ("Random weights: patterns carry no meaning", "随机权重：图案不代表任何含义"),
    "bug_zoo.cut": (
        "The first {most} of {total} tokens are used, so that the pictures can be compared.",
        "为便于对照，仅使用 {total} 个词元中的前 {most} 个。",
    ),
    "bug_zoo.scene_causal": ("Causal mask", "因果掩码"),
    "bug_zoo.scene_bias": ("Causal mask with ALiBi bias", "因果掩码加 ALiBi 偏置"),
    "bug_zoo.scene_grouped": (
        "Causal mask, 2 key/value heads for 4 query heads",
        "因果掩码，4 个查询头共用 2 个键/值头",
    ),
    "bug_zoo.scene_large": (
        "Causal mask, queries and keys {factor:g} times as large as usual",
        "因果掩码，查询和键放大为平常的 {factor:g} 倍",
    ),
    "bug_zoo.scene_causal_padding": ("Causal mask and padding on the right, 2 samples", "因果掩码与右侧填充，2 个样本"),
    "bug_zoo.scene_causal_left_padding": (
        "Causal mask and padding on the left, 2 samples",
        "因果掩码与左侧填充，2 个样本",
    ),
    "bug_zoo.scene_padding": ("Padding mask on the right, 2 samples", "右侧填充掩码，2 个样本"),
    "bug_zoo.scene_window": ("Causal window of {window} keys", "因果滑动窗口，{window} 个键"),
    "bug_zoo.scene_continued": (
        "Causal mask, the queries are the last half of the text",
        "因果掩码，查询只含文本的后一半",
    ),
    "bug_zoo.scene_packed": (
        "Packed documents under a causal mask: one per sentence, or two halves",
        "打包文档加因果掩码：每句一个文档，单句则分为两半",
    ),
    "bug_zoo.scene_cache": (
        "KV cache with {slots} empty slots (∅), the queries are the last half of the text",
        "KV 缓存，含 {slots} 个空槽位（∅），查询只含文本的后一半",
    ),
    "bug_zoo.scene_broken_value": (
        "Padding mask on the right, V holds NaN at the filler, 2 samples",
        "右侧填充掩码，填充处的 V 为 NaN，2 个样本",
    ),
    # Pictures
    "bug_zoo.right_side": ("Right", "正确"),
    "bug_zoo.wrong_side": ("Wrong", "错误"),
    "bug_zoo.difference": ("Difference", "差异"),
    "bug_zoo.difference_word": ("wrong − right", "错误 − 正确"),
    "bug_zoo.output_word": ("output", "输出"),
    "bug_zoo.feature": ("feature", "特征"),
    "bug_zoo.features": ("columns: features of the output", "列：输出的特征"),
    "bug_zoo.feature_short": ("d_v", "d_v"),
    "bug_zoo.legend_leak": ("leak: must be 0", "泄漏：应为 0"),
    "bug_zoo.changed": (
        "{changed} of {total} cells differ by more than 0.001, the largest by {largest:.2g}",
        "{total} 格中有 {changed} 格相差超过 0.001，最大相差 {largest:.2g}",
    ),
    "bug_zoo.lost": ("{lost} of {total} cells are no finite number any more", "{total} 格中有 {lost} 格不再是有限数"),
    "bug_zoo.same_here": (
        "Nothing differs in this head by more than 0.001: look at another one.",
        "这个头没有超过 0.001 的差异：请看其他头。",
    ),
    "bug_zoo.alt_right_weights": (
        "Heatmap of the right weights of head {head}: rows are queries, columns are keys",
        "头 {head} 的正确权重热图：行为查询，列为键",
    ),
    "bug_zoo.alt_wrong_weights": (
        "Heatmap of the wrong weights of head {head}, leaks and wrongly blocked cells outlined",
        "头 {head} 的错误权重热图，泄漏与误禁的格子已描边",
    ),
    "bug_zoo.alt_right_output": (
        "Heatmap of the right output of head {head}: rows are queries, columns are features",
        "头 {head} 的正确输出热图：行为查询，列为特征",
    ),
    "bug_zoo.alt_wrong_output": (
        "Heatmap of the wrong output of head {head}: rows are queries, columns are features",
        "头 {head} 的错误输出热图：行为查询，列为特征",
    ),
    "bug_zoo.alt_difference": ("Heatmap of wrong minus right for head {head}", "头 {head} 的“错误减正确”热图"),
    "bug_zoo.checks": ("Checks of the wrong one, all heads", "对错误结果的检查（所有头）"),
    "bug_zoo.checks_blind": (
        "This mistake passes all of these checks: they look at sums, signs and forbidden cells only.",
        "这种错误能通过以上全部检查：它们只看行和、正负号与被禁止的格子。",
    ),
    # What is to be said
    "bug_zoo.explanation": ("What went wrong", "错在哪里"),
    "bug_zoo.symptom": ("Look for:", "观察要点："),
    "bug_zoo.fix": ("Write instead", "正确写法"),
    "bug_zoo.sources": ("Met in the wild: {links}", "真实案例：{links}"),
    "bug_zoo.doctor": ("The doctor's verdict", "医生的诊断"),
    "bug_zoo.doctor_given": (
        "The doctor gets Q, K, V, the wrong result and the mask that was meant. It is not told the name.",
        "医生得到 Q、K、V、错误的结果以及本应使用的掩码，但不知道错误的名称。",
    ),
    "bug_zoo.doctor_names": ("Explained by: {name}", "可由此解释：{name}"),
    "bug_zoo.doctor_class": (
        "Explained by each of these, which cannot be told apart on this text: {names}",
        "以下每一种都能解释，在这段文本上无法区分：{names}",
    ),
    "bug_zoo.doctor_silent": (
        "No known mistake explains this result.",
        "没有已知的错误能解释这一结果。",
    ),
    "bug_zoo.join": ("; ", "；"),
    "bug_zoo.severity_error": ("error", "错误"),
    "bug_zoo.severity_warning": ("warning", "警告"),
    "bug_zoo.severity_info": ("note", "提示"),
    # The question
    "bug_zoo.ask": (
        "Which mistake is this? Compare the two pictures, then choose.",
        "这是哪一种错误？对照两幅图后作答。",
    ),
    "bug_zoo.wrong": (
        "Not “{title}”. That one would show itself like this: {symptom}",
        "不是“{title}”。那种错误的表现是：{symptom}",
    ),
    "bug_zoo.right": ("Right, at the first guess.", "答对了，一次猜中。"),
    "bug_zoo.right_later": ("Right. The first guess counts for the score.", "答对了。得分以第一次猜测为准。"),
    "bug_zoo.give_up": ("Show the answer", "显示答案"),
    "bug_zoo.next": ("Next question", "下一题"),
    "bug_zoo.score": ("Score: {right} of {asked} at the first guess", "得分：{asked} 题中一次猜中 {right} 题"),
    "bug_zoo.after_guess": (
        "The explanation, the fix and the doctor's verdict come after your guess.",
        "作答之后会显示解释、正确写法和医生的诊断。",
    ),
}
