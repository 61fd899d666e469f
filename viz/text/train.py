"""Texts of the train page."""

TEXTS: dict[str, tuple[str, str]] = {
    "train.title": ("Train", "训练"),
    "train.line": (
        "A small transformer, made of the modules of this project, learns a task while you watch. In each task it is known "
        "where the answer stands, so one can see whether attention finds it.",
        "用本项目的模块搭建的小型 Transformer 当场学习一个任务。每个任务里答案在哪里都是已知的，因此能看出注意力是否找到了它。",
    ),
    "train.link_ignored": ("Not usable in the link, and left out: {names}", "链接中无法使用、已忽略的设置：{names}"),
    "train.task": ("Task", "任务"),
    "train.task_help": ("What the model learns.", "模型要学什么。"),
    "train.task_copy": ("Copy", "复制"),
    "train.task_reverse": ("Reverse", "反转"),
    "train.task_lookup": ("Look up", "查找"),
    "train.task_induction": ("Repeat", "重复（归纳）"),
    "train.task_brackets": ("Brackets", "括号匹配"),
    "train.task_sentiment": ("Sentiment", "情感分类"),
    "train.about_copy": (
        "Letters, a bar, and the same letters again: at the bar and behind it the model says what comes next.",
        "若干字母、一条竖线，然后是同样的字母：从竖线起，模型要说出下一个字母。",
    ),
    "train.about_reverse": (
        "Letters, a bar, and the same letters backwards: at the bar and behind it the model says what comes next.",
        "若干字母、一条竖线，然后是倒序的同样字母：从竖线起，模型要说出下一个字母。",
    ),
    "train.about_lookup": (
        "Pairs of a letter and a digit, then letters alone: the model says the digit that belongs to each.",
        "成对的字母与数字，之后只有字母：模型要说出每个字母对应的数字。",
    ),
    "train.about_induction": (
        "Different letters, then a stretch of them again: the model says what followed the same letter before. This takes two "
        "layers as a rule: one looks back by one, the next finds the repeat.",
        "互不相同的字母，之后重复其中一段：模型要说出同一个字母上次之后是什么。通常需要两层：一层看前一个词元，下一层找到重复处。",
    ),
    "train.about_brackets": (
        "Nested brackets of three kinds, whose closing ones all look alike: the model says which kind is closed.",
        "三种括号相互嵌套，右括号都写成一样：模型要说出关闭的是哪一种。",
    ),
    "train.about_sentiment": (
        "A short sentence, read by an encoder: its first token says whether the judgement is good or bad; “not” turns it round.",
        "由编码器读一个短句：首词元给出褒贬；“not” 会把它反过来。",
    ),
    "train.layers": ("Layers", "层数"),
    "train.layers_help": (
        "Blocks one after the other, each with attention and a feed-forward part.",
        "依次相接的块，各含注意力与前馈部分。",
    ),
    "train.heads": ("Heads", "头数"),
    "train.heads_help": (
        "Per layer. The width of the model stays 64.",
        "每层的头数。模型宽度保持 64。",
    ),
    "train.d_k": ("d_k", "d_k"),
    "train.d_k_help": (
        "Width of queries and keys per head. Usual: d_model / heads.",
        "每个头的查询与键的宽度。通常为 d_model / 头数。",
    ),
    "train.d_k_usual": ("usual", "通常"),
    "train.position": ("Positions", "位置编码"),
    "train.position_help": ("How the model is told the order of the tokens.", "怎样把词元的次序告诉模型。"),
    "train.position_learned": ("learned", "可学习"),
    "train.position_sinusoidal": ("sinusoidal", "正弦"),
    "train.position_rotary": ("rotary", "旋转"),
    "train.position_none": ("none", "无"),
    "train.scaling": ("Scaling by 1/√d_k", "缩放 1/√d_k"),
    "train.scaling_help": ("Off: softmax sees the raw scores.", "关闭后，softmax 看到的是原始分数。"),
    "train.forgotten": ("Causal mask forgotten", "忘记因果掩码"),
    "train.forgotten_help": (
        "The model sees what it should foretell. An encoder has no causal mask to forget.",
        "模型能看到本该预测的内容。编码器本来就没有因果掩码。",
    ),
    "train.rate": ("Learning rate", "学习率"),
    "train.rate_help": (
        "Of AdamW, after 50 steps in which it rises. Gradients are clipped to length 1.",
        "AdamW 的学习率，前 50 步逐渐升高。梯度按长度 1 裁剪。",
    ),
    "train.seed": ("Seed", "随机种子"),
    "train.seed_help": (
        "Of weights and examples. The same seed gives the same numbers, paused or not.",
        "决定权重与样例。同一种子得到同样的数值，暂停与否都一样。",
    ),
    "train.start": ("Start training", "开始训练"),
    "train.ends": (
        "Ends by itself at {goal:.0%} right answers, or after {steps} steps.",
        "答对 {goal:.0%} 或到 {steps} 步时自动结束。",
    ),
    "train.side_by_side": ("Two runs side by side", "两次训练并排比较"),
    "train.side_by_side_help": (
        "Both start from the same seed and differ in one thing. They use the seed of the settings, nothing else of them.",
        "两者种子相同，只有一处不同。只取设置中的种子，不取其他设置。",
    ),
    "train.preset_scaling": ("Scaled / unscaled, d_k 256", "有缩放 / 无缩放，d_k 256"),
    "train.preset_scaling_help": ("Look up, with and without the factor 1/√d_k.", "查找任务，有与没有因子 1/√d_k。"),
    "train.preset_positions": ("With / without positions", "有位置 / 无位置"),
    "train.preset_positions_help": (
        "Copy, with learned positions and with none.",
        "复制任务，有可学习位置与没有位置。",
    ),
    "train.preset_heads": ("4 heads / 1 head", "4 个头 / 1 个头"),
    "train.preset_heads_help": ("Look up, with the same width of the model.", "查找任务，模型宽度相同。"),
    "train.preset_mask": ("Causal mask kept / forgotten", "有因果掩码 / 忘记因果掩码"),
    "train.preset_mask_help": (
        "Repeat. Without the mask the model reads the answer; asked to go on by itself, it has nothing to read.",
        "重复任务。没有掩码时模型直接读答案；让它自己往下说时，就没有可读的了。",
    ),
    "train.scaling_one": ("scaled", "有缩放"),
    "train.scaling_two": ("unscaled", "无缩放"),
    "train.positions_one": ("with positions", "有位置"),
    "train.positions_two": ("without positions", "无位置"),
    "train.heads_one": ("4 heads", "4 个头"),
    "train.heads_two": ("1 head", "1 个头"),
    "train.mask_one": ("mask kept", "有掩码"),
    "train.mask_two": ("mask forgotten", "忘记掩码"),
    "train.busy": (
        "At most {most} runs train at once on this machine, and all places are taken. Try again in a moment.",
        "本机同时最多进行 {most} 个训练，名额已满。请稍后再试。",
    ),
    "train.what": (
        "{task}: {layers} {layers:layer|layers} x {heads} {heads:head|heads}, d_model {d_model}, d_k {d_k}, {scaling}, positions: {position}, learning "
        "rate {rate:g}, seed {seed}",
        "{task}：{layers} 层 x {heads} 头，d_model {d_model}，d_k {d_k}，{scaling}，位置：{position}，学习率 {rate:g}，种子 {seed}",
    ),
    "train.scaled": ("scaled", "有缩放"),
    "train.unscaled": ("unscaled", "无缩放"),
    "train.mask_forgotten": ("causal mask forgotten", "忘记因果掩码"),
    "train.pause": ("Pause", "暂停"),
    "train.stop": ("Stop", "停止"),
    "train.go_on": ("Go on", "继续"),
    "train.go_on_help": (
        "From where it stands; after a goal or a limit, for as many steps again, up to step {last}.",
        "从当前处继续；已达目标或上限时再训练同样多步，最多到第 {last} 步。",
    ),
    "train.step": ("Step {step} of at most {last}", "第 {step} 步，最多 {last} 步"),
    "train.now": (
        "After {step} {step:step|steps}: {right:.0%} right, loss {loss:.3g}. Head {head} gives most to the answer: {weight:.2f} of its weight.",
        "{step} 步之后：答对 {right:.0%}，损失 {loss:.3g}。头 {head} 给答案的权重最多：{weight:.2f}。",
    ),
    "train.learned": (
        "Learned: {goal:.0%} right answers or more after {step} steps.",
        "学会了：{step} 步后答对 {goal:.0%} 以上。",
    ),
    "train.limit": (
        "Ended at the limit of {step} steps with {right:.0%} right; the goal was {goal:.0%}.",
        "到 {step} 步上限结束，答对 {right:.0%}；目标为 {goal:.0%}。",
    ),
    "train.broken": (
        "Training stopped: the loss is no longer a number since step {step}. Too large steps throw the weights out of range: "
        "take a learning rate below {rate:g}.",
        "训练停止：自第 {step} 步起损失不再是数字。步子太大会让权重超出范围：请取小于 {rate:g} 的学习率。",
    ),
    "train.broken_unscaled": (
        "Training stopped: the loss is no longer a number since step {step}. Unscaled scores grow with d_k and make it worse: switch "
        "the scaling on, or take a learning rate below {rate:g}.",
        "训练停止：自第 {step} 步起损失不再是数字。未缩放的分数随 d_k 增大，使情况更糟：请打开缩放，或取小于 {rate:g} 的学习率。",
    ),
    "train.failed": ("The run ended with a fault: {reason}", "训练因故障结束：{reason}"),
    "train.differ_both": (
        "Both reach {goal:.0%}: “{one}” after {one_step} steps, “{two}” after {two_step}.",
        "两者都达到 {goal:.0%}：“{one}” 用 {one_step} 步，“{two}” 用 {two_step} 步。",
    ),
    "train.differ_first": (
        "“{one}” reaches {goal:.0%} after {one_step} steps; “{two}” is at {two_right:.0%} after {two_step}, loss {two_loss:.3g}.",
        "“{one}” 用 {one_step} 步达到 {goal:.0%}；“{two}” 在 {two_step} 步后为 {two_right:.0%}，损失 {two_loss:.3g}。",
    ),
    "train.differ_second": (
        "“{two}” reaches {goal:.0%} after {two_step} steps; “{one}” is at {one_right:.0%} after {one_step}, loss {one_loss:.3g}.",
        "“{two}” 用 {two_step} 步达到 {goal:.0%}；“{one}” 在 {one_step} 步后为 {one_right:.0%}，损失 {one_loss:.3g}。",
    ),
    "train.differ_neither": (
        "Neither has reached {goal:.0%}: “{one}” is at {one_right:.0%} after {one_step} steps, “{two}” at {two_right:.0%} after {two_step}.",
        "两者都还未达到 {goal:.0%}：“{one}” 在 {one_step} 步后为 {one_right:.0%}，“{two}” 在 {two_step} 步后为 {two_right:.0%}。",
    ),
    "train.alone": (
        "With the causal mask on and nothing of the future there, each model answers the example token by token, reading its own words:",
        "加上因果掩码、没有后文可看时，模型逐个词元作答，并读入自己说的话：",
    ),
    "train.alone_said": (
        "**{name}** says `{said}` where `{asked}` is right. Over all test examples {alone:.0%} are right so, and {right:.0%} as it "
        "was trained.",
        "**{name}** 说 `{said}`，正确的是 `{asked}`。在全部测试样例上，这样答对 {alone:.0%}，按训练时的方式答对 {right:.0%}。",
    ),
    "train.this_model": ("This model", "该模型"),
    "train.checkpoint": ("Checkpoint, in steps", "检查点（步数）"),
    "train.checkpoint_help": (
        "Every fifth step is looked at; of long runs up to 32 checkpoints keep their attention. Arrow keys move it.",
        "每 5 步查看一次；长的训练最多保留 32 个检查点的注意力。可用方向键移动。",
    ),
    "train.accuracy": ("Right answers", "答对比例"),
    "train.accuracy_axis": ("share right", "答对比例"),
    "train.loss": ("Loss", "损失"),
    "train.loss_axis": ("loss, nats", "损失，奈特"),
    "train.steps": ("steps", "步数"),
    "train.curve_alt": (
        "{what} against steps; the last value stands above in words.",
        "{what}随步数的曲线；最后的值已在上方写出。",
    ),
    "train.maps": ("Attention of every head on one example", "每个头在一个样例上的注意力"),
    "train.maps_note": (
        "The example is never trained on. Orange frames: the keys that hold an answer, and in each map the cells where a query would "
        "find it.",
        "该样例从不用于训练。橙色框：含有答案的键，以及每张图中查询能找到答案的格子。",
    ),
    "train.maps_alt": (
        "Attention maps of {layers} layers x {heads} heads after {step} steps.",
        "{step} 步后 {layers} 层 x {heads} 头的注意力图。",
    ),
    "train.head_name": ("Layer {layer}, head {head}", "第 {layer} 层，头 {head}"),
    "train.row_in": ("tokens", "词元"),
    "train.row_asked": ("right", "正确"),
    "train.row_said": ("model", "模型"),
    "train.over_time": ("What became of the heads", "各个头的变化"),
    "train.on_source": ("Weight on the answer", "答案上的权重"),
    "train.on_source_help": (
        "Mean weight that the asked queries of a head give to the key that holds the answer, over 256 test examples.",
        "在 256 个测试样例上，各头被提问的查询给予含有答案的键的平均权重。",
    ),
    "train.entropy": ("Entropy", "熵"),
    "train.entropy_help": (
        "Of the asked rows, as a share of the largest possible: 1 looks at all keys alike, 0 at one alone.",
        "被提问的行的熵，占最大可能值的比例：1 表示对所有键一视同仁，0 表示只看一个键。",
    ),
    "train.similarity": ("Similarity of heads", "头之间的相似度"),
    "train.similarity_help": (
        "Mean cosine between the maps of two heads of a layer: 1 where all heads do the same.",
        "同层两个头的注意力图之间的平均余弦：1 表示所有头相同。",
    ),
    "train.similarity_axis": ("mean cosine", "平均余弦"),
    "train.similarity_alt": (
        "Mean cosine between heads, per layer, against steps.",
        "每层头之间的平均余弦随步数的曲线。",
    ),
    "train.head_axis": ("layer.head", "层.头"),
    "train.heads_alt": ("{what} of each head against steps, as a heatmap.", "各头的{what}随步数的热图。"),
    "train.layer": ("layer {layer}", "第 {layer} 层"),
    "train.keep": ("Keep this model", "保留该模型"),
    "train.keep_named": ("Keep “{name}”", "保留“{name}”"),
    "train.download": ("Download (safetensors)", "下载（safetensors）"),
    "train.download_help": (
        "A zip with model.safetensors, config.json and the tokenizer; transformers opens the folder.",
        "含 model.safetensors、config.json 与分词器的 zip；transformers 可直接打开该文件夹。",
    ),
    "train.explore": ("Open in Explore", "在“探索”中打开"),
    "train.explore_help": (
        "Saves it into this machine's cache and opens it with the example as text.",
        "保存到本机缓存，并以该样例为文本打开。",
    ),
    "train.cannot_write": ("The model cannot be saved into the cache: {reason}", "无法把模型保存到缓存：{reason}"),
    "train.not_saved_d_k": (
        "It cannot be saved: the pretrained architectures have d_k = d_model / heads. Train with the usual d_k to open it.",
        "无法保存：预训练架构要求 d_k = d_model / 头数。用通常的 d_k 训练即可打开。",
    ),
    "train.not_saved_rotary": (
        "It cannot be saved: the architectures it would be opened as add their positions, and these are rotary. Train with learned ones.",
        "无法保存：可供打开的架构使用相加的位置编码，而这里是旋转位置编码。请用可学习位置训练。",
    ),
    "train.not_saved_encoder": (
        "It cannot be saved: a pretrained encoder is scaled. Train with scaling; on the explore page it can be switched off.",
        "无法保存：预训练编码器都有缩放。请带缩放训练；在“探索”页可以将其关闭。",
    ),
}
