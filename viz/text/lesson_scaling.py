"""Texts of lesson 4, why the scores are divided by sqrt(d_k)."""

TEXTS: dict[str, tuple[str, str]] = {
    "lesson.scaling.feature_variance": ("Variance of each feature of q and k", "q 和 k 每个特征的方差"),
    "lesson.scaling.feature_variance.help": (
        "Theory: the variance of q · k is d_k × Var(q) × Var(k).",
        "理论：q · k 的方差是 d_k × Var(q) × Var(k)。",
    ),
    "lesson.scaling.d_k": ("d_k", "d_k"),
    "lesson.scaling.d_k.help": ("How many products one score adds up.", "一个分数由多少个乘积相加。"),
    "lesson.scaling.variance": ("Variance of q and k", "q 和 k 的方差"),
    "lesson.scaling.variance.help": (
        "The factor 1 / √d_k assumes 1; trained models may have more.",
        "系数 1 / √d_k 假设它是 1；训练好的模型可能更大。",
    ),
    "lesson.scaling.divisor": ("Divide the scores by", "分数除以"),
    "lesson.scaling.divisor.help": (
        "What stands below Q Kᵀ in the formula; the map on the left divides by 1.",
        "公式中 Q Kᵀ 下面的数；左图除以 1。",
    ),
    "lesson.scaling.divisor.sqrt_d_k": ("√d_k", "√d_k"),
    "lesson.scaling.divisor.d_k": ("d_k", "d_k"),
    "lesson.scaling.divisor.sqrt_d_model": ("√d_model", "√d_model"),
    "lesson.scaling.by_one": ("not divided", "不除"),
    "lesson.scaling.by_sqrt_d_k": ("divided by √d_k", "除以 √d_k"),
    "lesson.scaling.by_d_k": ("divided by d_k", "除以 d_k"),
    "lesson.scaling.by_sqrt_d_model": ("divided by √d_model", "除以 √d_model"),
    "lesson.scaling.measure": ("Measure", "指标"),
    "lesson.scaling.measure.help": ("What is drawn against d_k.", "随 d_k 变化的是哪个量。"),
    "lesson.scaling.measure.top_weight": ("top weight", "最大权重"),
    "lesson.scaling.measure.jacobian": ("Jacobian norm", "雅可比范数"),
    "lesson.scaling.measure.entropy": ("entropy (nats)", "熵（nat）"),
    "lesson.scaling.measure.saturation": ("saturated rows", "饱和行的比例"),
    "lesson.scaling.sweep_variance": ("Variance of q and k", "q 和 k 的方差"),
    "lesson.scaling.sweep_variance.help": (
        "Of each feature, before the dot product.",
        "点积之前每个特征的方差。",
    ),
    "lesson.scaling.measured": ("measured", "测得"),
    "lesson.scaling.theory": ("theory", "理论"),
    "lesson.scaling.variance_axis": ("variance of q · k", "q · k 的方差"),
    "lesson.scaling.variance_alt": (
        "Variance of the raw score against d_k, measured with error bars, beside theory.",
        "原始分数的方差随 d_k 的变化：带误差棒的测量值与理论值。",
    ),
    "lesson.scaling.ratio_axis": ("measured / theory", "测得 / 理论"),
    "lesson.scaling.ratio_alt": (
        "The same as a ratio to theory, with error bars.",
        "同样的数据除以理论值，带误差棒。",
    ),
    "lesson.scaling.variance_note": (
        "{pairs} independent pairs for each of {seeds} seeds; the bars are one standard deviation over the seeds.",
        "{seeds} 个随机种子，每个 {pairs} 对独立的 q 和 k；误差棒是各种子之间的一个标准差。",
    ),
    "lesson.scaling.keys": ("keys", "键"),
    "lesson.scaling.map_alt": ("Weights, scores {name}.", "权重，分数{name}。"),
    "lesson.scaling.column_divided": ("scores", "分数"),
    "lesson.scaling.column_variance": ("variance", "方差"),
    "lesson.scaling.column_top": ("top weight", "最大权重"),
    "lesson.scaling.column_entropy": ("entropy", "熵"),
    "lesson.scaling.column_saturation": ("saturated", "饱和"),
    "lesson.scaling.column_jacobian": ("Jacobian", "雅可比"),
    "lesson.scaling.column_gradient": ("gradient at Q", "Q 处的梯度"),
    "lesson.scaling.same_note": (
        "All four rows use the same q, k and v: {length} queries, {length} keys, {heads} heads, so d_model is {d_model}. "
        "A row is saturated when its top weight exceeds 0.99.",
        "四行用的是同样的 q、k、v：{length} 个查询，{length} 个键，{heads} 个头，所以 d_model 是 {d_model}。"
        "最大权重超过 0.99 的行算饱和。",
    ),
    "lesson.scaling.sweep_alt": ("{name} against d_k for four divisors.", "四种除数下，{name}随 d_k 的变化。"),
    "lesson.scaling.grows.ask": (
        "d_k goes from 16 to 64, with features of variance 1. What becomes of the variance of q · k?",
        "d_k 从 16 变到 64，特征方差为 1。q · k 的方差会怎样？",
    ),
    "lesson.scaling.grows.same": ("It stays", "不变"),
    "lesson.scaling.grows.twice": ("It doubles", "变为 2 倍"),
    "lesson.scaling.grows.four": ("It becomes 4 times as large", "变为 4 倍"),
    "lesson.scaling.grows.sixteen": ("It becomes 16 times as large", "变为 16 倍"),
    "lesson.scaling.grows.same.why": (
        "Independent products add their variances; measured, it goes from {before} to {after}.",
        "独立乘积的方差会相加；实测从 {before} 变到 {after}。",
    ),
    "lesson.scaling.grows.twice.why": (
        "That is the standard deviation. The variance goes from {before} to {after}.",
        "翻倍的是标准差。方差从 {before} 变到 {after}。",
    ),
    "lesson.scaling.grows.four.why": (
        "Each of the d_k products has variance 1, and they add up: from {before} to {after}.",
        "d_k 个乘积各有方差 1，相加得到：从 {before} 到 {after}。",
    ),
    "lesson.scaling.grows.sixteen.why": (
        "Variances of independent terms add; they are not squared. It goes from {before} to {after}.",
        "独立项的方差相加，不是平方。它从 {before} 变到 {after}。",
    ),
    "lesson.scaling.top.ask": (
        "At d_k 256 the scores are not divided at all. How large is the largest weight of a row, on average?",
        "d_k 为 256，分数完全不除。一行中最大的权重平均有多大？",
    ),
    "lesson.scaling.top.spread": ("About {even}: spread evenly", "约 {even}：几乎均匀"),
    "lesson.scaling.top.some": ("About 0.3", "约 0.3"),
    "lesson.scaling.top.all": ("Nearly 1", "接近 1"),
    "lesson.scaling.top.spread.why": (
        "Scores that far apart are anything but even after exp. Measured: {off}.",
        "分数相差这么大，取 exp 之后绝不会均匀。实测：{off}。",
    ),
    "lesson.scaling.top.some.why": (
        "That is more like the divided scores, {on}. Without division it is {off}.",
        "那更像除过之后的结果 {on}。不除的话是 {off}。",
    ),
    "lesson.scaling.top.all.why": (
        "Measured: {off}, against {on} when divided by √d_k. Softmax has become a choice of one key.",
        "实测 {off}，除以 √d_k 时只有 {on}。softmax 变成了只选一个键。",
    ),
    "lesson.scaling.gradient.ask": (
        "At d_k 512: compared with scores divided by √d_k, how much gradient does softmax let through undivided ones?",
        "d_k 为 512 时，与除以 √d_k 相比，不除的分数经过 softmax 能传回多少梯度？",
    ),
    "lesson.scaling.gradient.more": ("Much more", "多得多"),
    "lesson.scaling.gradient.alike": ("About as much", "差不多"),
    "lesson.scaling.gradient.less": ("Much less", "少得多"),
    "lesson.scaling.gradient.more.why": (
        "Where one weight is nearly 1, moving a score changes nothing: the Jacobian norm is {off} against {on}.",
        "某个权重接近 1 时，改变分数几乎没有影响：雅可比范数是 {off} 对 {on}。",
    ),
    "lesson.scaling.gradient.alike.why": (
        "The Jacobian norms differ: {off} undivided, {on} divided.",
        "雅可比范数并不相同：不除 {off}，除过 {on}。",
    ),
    "lesson.scaling.gradient.less.why": (
        "The norm of the softmax Jacobian is {off}, against {on} with scaling: saturated rows barely learn.",
        "softmax 的雅可比范数是 {off}，缩放后是 {on}：饱和的行几乎学不到东西。",
    ),
    "lesson.scaling.too_much.ask": (
        "Then why not divide by d_k itself? At d_k 1024, what do the weights look like?",
        "那为什么不直接除以 d_k？d_k 为 1024 时，权重会是什么样？",
    ),
    "lesson.scaling.too_much.peaked": ("One key gets nearly everything", "一个键几乎得到全部"),
    "lesson.scaling.too_much.even": ("All keys get nearly the same", "所有键几乎一样"),
    "lesson.scaling.too_much.peaked.why": (
        "The scores shrink towards 0, so no key stands out: the top weight is {top}, an even share {share}.",
        "分数都缩向 0，没有哪个键突出：最大权重 {top}，均分是 {share}。",
    ),
    "lesson.scaling.too_much.even.why": (
        "The top weight is {top}, an even share would be {share}: attention has stopped choosing.",
        "最大权重 {top}，均分是 {share}：注意力不再做选择。",
    ),
    "lesson.scaling.go": ("Open in Explore", "在探索页打开"),
    "lesson.scaling.go.why": (
        "Four heads with d_k 256 and scaling off, on a sentence. Turn scaling on and watch the variance panel.",
        "四个头，d_k 为 256，缩放关闭，作用在一句话上。打开缩放，看方差那幅图。",
    ),
    "lesson.scaling.go.text": ("The cat sat on the mat and looked at the moon.", "我打你，你打我，我们一起看月亮。"),
}
