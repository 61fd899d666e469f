"""Texts of the leak test on the Debug page."""

TEXTS: dict[str, tuple[str, str]] = {
    "leak.heading": ("Leak test on a model", "对模型做泄漏测试"),
    "leak.line": (
        "The proof by behaviour: each token is replaced in turn, and every output that moves has read it, whatever the mask says.",
        "用行为来证明：逐个替换每个词元，凡是发生变化的输出都读取过它，无论掩码怎么写。",
    ),
    "leak.model": ("Model", "模型"),
    "leak.model_help": (
        "The from-scratch core with random weights, or a pretrained model that is on this machine: x is changed, f(x) is watched.",
        "随机权重的自写核心，或本机已有的预训练模型：改变 x，观察 f(x)。",
    ),
    "leak.model_core": ("From-scratch core, two layers", "从零实现的核心，两层"),
    "leak.mask": ("Mask that it applies", "它使用的掩码"),
    "leak.mask_help": (
        "M in softmax(QKᵀ·s + M), in every layer. “Its own” runs the model without a change, under both its slow and its fast attention.",
        "每一层 softmax(QKᵀ·s + M) 中的 M。“自带”不作任何修改，分别用慢速和快速注意力各运行一次。",
    ),
    "leak.mask_causal": ("causal", "因果"),
    "leak.mask_none": ("none: every token sees every token", "无：所有词元互相可见"),
    "leak.mask_window": ("causal window of 3 keys", "3 个键的因果窗口"),
    "leak.mask_documents": ("within each sentence", "每句之内"),
    "leak.mask_causal+documents": ("causal within each sentence", "每句之内因果"),
    "leak.mask_padding": ("padding hidden", "屏蔽填充"),
    "leak.mask_causal+padding": ("causal, padding hidden", "因果，屏蔽填充"),
    "leak.mask_model": ("its own", "自带"),
    "leak.intent": ("What was meant", "本意是什么"),
    "leak.intent_help": (
        "Which inputs output i may depend on: j ≤ i, its own sentence, anything but padding, or all of them.",
        "输出 i 可以依赖哪些输入：j ≤ i、所在句子、除填充外的一切，或全部。",
    ),
    "leak.intent_causal": ("causal", "因果"),
    "leak.intent_full": ("none: all may be read", "无：全部可读"),
    "leak.intent_documents": ("packed documents, one per sentence", "打包文档，每句一个"),
    "leak.intent_causal+documents": ("causal in packed documents", "打包文档内因果"),
    "leak.intent_padding": ("padding, two tokens at the end", "填充，末尾两个词元"),
    "leak.intent_causal+padding": ("causal with padding", "因果，含填充"),
    "leak.method": ("Inputs are", "对输入"),
    "leak.method_help": (
        "Changed: another token at j, then |Δf(x)ᵢ|. Differentiated: the norm of ∂f(x)ᵢ/∂xⱼ, as training would see it.",
        "替换：把 j 处换成另一词元，看 |Δf(x)ᵢ|。求导：∂f(x)ᵢ/∂xⱼ 的范数，即训练时所见。",
    ),
    "leak.method_change": ("changed", "替换"),
    "leak.method_gradient": ("differentiated", "求导"),
    "leak.text": ("Text", "文本"),
    "leak.text_help": (
        "The tokens x; the first {most} are tested, of a large model the first {large}.",
        "词元 x；测试前 {most} 个，大模型测试前 {large} 个。",
    ),
    "leak.run": ("Run the leak test", "运行泄漏测试"),
    "leak.run_help": (
        "Runs f on changed copies of x; seconds, for a large model some tens of them.",
        "在 x 的修改副本上运行 f；需数秒，大模型需数十秒。",
    ),
    "leak.running": ("Changing one input at a time", "正在逐个改变输入"),
    "leak.link_ignored": (
        "The link holds settings of the leak test that cannot be used here: {names}.",
        "链接中有此处无法使用的泄漏测试设置：{names}。",
    ),
    "leak.earlier": (
        "Below is the result for the settings before: {model} · {mask} · meant: {intent}. Run the test again for the new ones.",
        "下方是之前设置的结果：{model} · {mask} · 本意：{intent}。请为新设置重新运行测试。",
    ),
    "leak.cut": ("The first {kept} of {total} tokens were tested.", "测试了 {total} 个词元中的前 {kept} 个。"),
    # Errors
    "leak.error_no_tokens": (
        "The test needs tokens: the text has none that this model can read. Type a word.",
        "测试需要词元：文本中没有该模型可读的词元。请输入一个词。",
    ),
    "leak.error_one_document": (
        "Packed documents need two of them: the tested text is one sentence. Type a second sentence.",
        "打包文档至少需要两个：所测文本只有一句。请再输入一句。",
    ),
    "leak.error_gradient": (
        "The gradient cannot be read here: {reason}. Choose to change inputs instead.",
        "此处无法求导：{reason}。请改为替换输入。",
    ),
    "leak.error_sentence": ("The test cannot be made: {reason}.", "无法进行测试：{reason}。"),
    "leak.error_model": (
        "The model cannot be used now: {reason}.",
        "模型当前不可用：{reason}。",
    ),
    # Verdict
    "leak.passed": ("No leak", "没有泄漏"),
    "leak.passed_text": (
        "Inputs tested: {inputs}. Cells that moved: {moved}, each of them allowed to.",
        "测试的输入：{inputs} 个。发生变化的单元格：{moved} 个，均为允许的依赖。",
    ),
    "leak.failed": ("Leak, cells: {cells}", "泄漏，单元格：{cells}"),
    "leak.failed_otherwise": ("Not sound", "有问题"),
    "leak.on": ("{name}: ", "{name}："),
    "leak.moved": (
        "input {input} moved outputs {outputs} (by up to {largest:.2g})",
        "输入 {input} 使输出 {outputs} 变化（最大 {largest:.2g}）",
    ),
    "leak.more": ("and {count} more {count:input|inputs} likewise", "另有 {count} 个输入也是如此"),
    "leak.and": ("; ", "；"),
    "leak.finding": ("{title} ({cells} cells): {moved}.", "{title}（{cells} 个单元格）：{moved}。"),
    "leak.finding_alone": ("{title}.", "{title}。"),
    "leak.code_future-visible": ("Future tokens are visible", "能看到未来的词元"),
    "leak.code_padding-visible": ("Padding is read", "填充被读取"),
    "leak.code_document-visible": ("Packed documents read each other", "打包的文档互相读取"),
    "leak.code_forbidden-visible": ("Outputs depend on inputs that they may not read", "输出依赖了不允许读取的输入"),
    "leak.code_samples-mixed": ("Samples of one batch read each other", "同一批次的样本互相读取"),
    "leak.code_padding-shifts": (
        "Padding changes real outputs: without it the sample gives other numbers",
        "填充改变了真实输出：去掉填充后该样本的结果不同",
    ),
    "leak.code_implementations-differ": (
        "The two implementations give different outputs",
        "两种实现给出的输出不同",
    ),
    "leak.code_not-finite": (
        "Outputs hold NaN: what they depend on cannot be seen",
        "输出含有 NaN：无法判断它们依赖什么",
    ),
    "leak.code_nothing-moved": (
        "No output moved at all: the test proves nothing",
        "没有任何输出发生变化：测试不能证明什么",
    ),
    "leak.code_padding-not-compared": (
        "Padded and unpadded outputs could not be compared",
        "无法比较有填充与无填充的输出",
    ),
    "leak.implementations": ("Implementation", "实现"),
    "leak.implementations_help": (
        "Which kernel forms softmax(QKᵀ·s + M)V; some leaks exist on the fast one alone.",
        "由哪种内核计算 softmax(QKᵀ·s + M)V；有些泄漏只存在于快速路径。",
    ),
    "leak.implementation_eager": ("eager", "eager"),
    "leak.implementation_sdpa": ("sdpa, the fast one", "sdpa（快速）"),
    "leak.agree": (
        "{first} and {second} agree: outputs differ by at most {apart:.1e}, and no leak exists under {second} alone.",
        "{first} 与 {second} 一致：输出最多相差 {apart:.1e}，没有只存在于 {second} 的泄漏。",
    ),
    "leak.disagree": (
        "{first} and {second} differ by up to {apart:.1e}. Leaks under {second} alone: {only}.",
        "{first} 与 {second} 最多相差 {apart:.1e}。只存在于 {second} 的泄漏：{only}。",
    ),
    # Figure
    "leak.rows": ("rows: outputs that moved", "行：发生变化的输出"),
    "leak.columns": ("columns: inputs that were changed", "列：被改变的输入"),
    "leak.output": ("output", "输出"),
    "leak.input": ("input", "输入"),
    "leak.share": ("share of the largest change", "占最大变化的比例"),
    "leak.change": ("change", "变化"),
    "leak.may_depend": ("may depend", "可以依赖"),
    "leak.scale_log": (
        "colour: log10 of change / largest change, 0.000001 to 1",
        "颜色：变化 / 最大变化 的 log10，0.000001 到 1",
    ),
    "leak.legend_forbidden": ("may not depend", "不可依赖"),
    "leak.legend_leak": ("leak: moved, though it may not", "泄漏：不应变化却变化了"),
    "leak.legend_zero": ("did not move", "没有变化"),
    "leak.legend_tiny": ("moved by less than 0.000001 of the largest", "变化不足最大变化的 0.000001"),
    "leak.alt": (
        "Leak matrix: rows are outputs, columns are changed inputs; leaks outlined: {cells}.",
        "泄漏矩阵：行为输出，列为被改变的输入；带轮廓的泄漏：{cells}。",
    ),
    # One's own
    "leak.own": ("The same test on your model", "对你自己的模型做同样的测试"),
    "leak.own_text": (
        "In a test of yours: model is any module or function, ids is (batch, len). It fails with these sentences.",
        "写进你的测试：model 可以是任何模块或函数，ids 为 (batch, len)。失败时给出同样的说明。",
    ),
}
