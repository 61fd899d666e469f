"""Texts of lesson 10, a whole block."""

TEXTS: dict[str, tuple[str, str]] = {
    "lesson.block.arrangement": ("Arrangement", "结构"),
    "lesson.block.arrangement.help": (
        "The same weights, put together in four ways.",
        "同样的参数，四种组合方式。",
    ),
    "lesson.block.arrangement.pre": ("norm before", "先归一化（pre-norm）"),
    "lesson.block.arrangement.post": ("norm after", "后归一化（post-norm）"),
    "lesson.block.arrangement.no_norm": ("no norm", "无归一化"),
    "lesson.block.arrangement.no_residual": ("no residual", "无残差"),
    "lesson.block.layer": ("Layer", "层"),
    "lesson.block.layer.help": ("Which of the 24 layers is taken apart.", "拆开 24 层中的哪一层。"),
    "lesson.block.measure": ("Measure", "指标"),
    "lesson.block.measure.help": ("What is drawn against the layer.", "随层数变化的是哪个量。"),
    "lesson.block.measure.variance": ("variance", "方差"),
    "lesson.block.measure.similarity": ("likeness of tokens (cosine)", "词元间的相似度（余弦）"),
    "lesson.block.measure.gradient": ("gradient", "梯度"),
    "lesson.block.stack_alt": (
        "{name} against the layer, for four arrangements of the block.",
        "四种结构下，{name}随层数的变化。",
    ),
    "lesson.block.stack_note": (
        "{layers} freshly drawn layers, the same in each line, {length} random tokens, d_model {d_model}, {heads} heads. "
        "Layer 0 is the input; the gradient is that of a random sum of the outputs, at the output of each layer.",
        "{layers} 层，随机初始化，四条线用同一组参数；{length} 个随机词元，d_model 为 {d_model}，{heads} 个头。"
        "第 0 层是输入；梯度是输出的随机加权和对每层输出的梯度。",
    ),
    "lesson.block.step": ("step", "步骤"),
    "lesson.block.steps_alt": (
        "Variance behind each step of layer {layer}, in the order of the table.",
        "第 {layer} 层中每一步之后的方差，顺序与表格相同。",
    ),
    "lesson.block.column_step": ("behind", "步骤之后"),
    "lesson.block.column_variance": ("variance", "方差"),
    "lesson.block.step_input": ("input", "输入"),
    "lesson.block.step_attention_norm": ("layer norm (attention)", "层归一化（注意力）"),
    "lesson.block.step_attention": ("attention", "注意力"),
    "lesson.block.step_attention_sum": ("residual + attention", "残差 + 注意力"),
    "lesson.block.step_feed_forward_norm": ("layer norm (feed-forward)", "层归一化（前馈）"),
    "lesson.block.step_feed_forward": ("feed-forward", "前馈网络"),
    "lesson.block.step_feed_forward_sum": ("residual + feed-forward", "残差 + 前馈"),
    "lesson.block.growth.ask": (
        "Norm before each part, residual around it, 24 layers. The input has variance 1. And the output?",
        "每个部分之前归一化，外面有残差，共 24 层。输入方差为 1，输出呢？",
    ),
    "lesson.block.growth.same": ("About 1 again", "还是约 1"),
    "lesson.block.growth.twenty": ("Some twenty times as much", "二十倍左右"),
    "lesson.block.growth.huge": ("Many millions", "几百万以上"),
    "lesson.block.growth.same.why": (
        "Only what goes into a part is normalised; the residual path itself never is: from {before} to {after}.",
        "归一化的只是进入各部分的输入，残差通路本身从不归一化：从 {before} 到 {after}。",
    ),
    "lesson.block.growth.twenty.why": (
        "Each layer adds about as much as the one before, since its input is normalised: from {before} to {after}.",
        "由于输入都经过归一化，每层增加的量差不多：从 {before} 到 {after}。",
    ),
    "lesson.block.growth.huge.why": (
        "It would, were each layer's share to grow with its input. The norm before keeps the shares alike: {after}.",
        "如果每层的增量随输入变大，就会这样。前面的归一化使各层增量相近：{after}。",
    ),
    "lesson.block.bare.ask": (
        "The same layers without any norm, the residual kept. What is the variance behind layer 24?",
        "同样的层，去掉所有归一化，保留残差。第 24 层之后的方差是多少？",
    ),
    "lesson.block.bare.same": ("About 1", "约 1"),
    "lesson.block.bare.twenty": ("About twenty", "约二十"),
    "lesson.block.bare.huge": ("Many millions", "几百万以上"),
    "lesson.block.bare.same.why": (
        "Nothing holds it there: {before} becomes {after}.",
        "没有什么能让它保持不变：{before} 变成 {after}。",
    ),
    "lesson.block.bare.twenty.why": (
        "That was with the norm. Now every layer multiplies: {before} becomes {after}.",
        "那是有归一化时的结果。现在每一层都在成倍放大：{before} 变成 {after}。",
    ),
    "lesson.block.bare.huge.why": (
        "A larger input makes a larger share, which is added to it: it grows by a factor per layer, up to {after}.",
        "输入越大，增量越大，又加回到输入上：每层乘一个倍数，直到 {after}。",
    ),
    "lesson.block.alike.ask": (
        "Without the residual path, after 6 layers of attention and feed-forward: how alike are different tokens?",
        "没有残差通路，经过 6 层注意力和前馈网络之后，不同的词元有多相似？",
    ),
    "lesson.block.alike.apart": ("As different as at the start", "和开始时一样不同"),
    "lesson.block.alike.some": ("About half alike", "大约一半相似"),
    "lesson.block.alike.alike": ("Nearly the same vector", "几乎是同一个向量"),
    "lesson.block.alike.apart.why": (
        "Attention averages, and averages of averages run together: the cosine goes from {start} to {end}.",
        "注意力做的是平均，平均的平均会趋于一致：余弦从 {start} 变成 {end}。",
    ),
    "lesson.block.alike.some.why": (
        "With the residual it is {kept}. Without it there is nothing but averages left: {end}.",
        "有残差时是 {kept}。没有残差，就只剩下平均：{end}。",
    ),
    "lesson.block.alike.alike.why": (
        "Each layer replaces a token by an average of all. The cosine goes from {start} to {end}; with residual: {kept}.",
        "每一层都用所有词元的平均代替一个词元。余弦从 {start} 变成 {end}；有残差时是 {kept}。",
    ),
    "lesson.block.go": ("Open in Explore", "在探索页打开"),
    "lesson.block.go.why": (
        "Attention followed through all layers of a trained model, with the residual path counted as half.",
        "在训练好的模型中逐层追踪注意力，残差通路按一半计算。",
    ),
    "lesson.block.go.text": ("The cat sat on the mat and looked at the moon.", "小猫坐在垫子上看月亮。"),
}
