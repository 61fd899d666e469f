"""Texts of lesson 1, why attention."""

TEXTS: dict[str, tuple[str, str]] = {
    "lesson.paths.cell": ("Recurrent net", "循环网络"),
    "lesson.paths.cell.help": (
        "Which recurrence carries the first token to the last, one time step after the other.",
        "由哪种循环单元把第一个词元一步一步传到最后。",
    ),
    "lesson.paths.cell.rnn": ("RNN", "RNN"),
    "lesson.paths.cell.lstm": ("LSTM", "LSTM"),
    "lesson.paths.cell.gru": ("GRU", "GRU"),
    "lesson.paths.kernel": ("Kernel of the convolution", "卷积核宽度"),
    "lesson.paths.kernel.help": (
        "How many tokens one layer of the convolution sees at once.",
        "一层卷积一次能看到多少个词元。",
    ),
    "lesson.paths.net_convolution": ("CNN", "CNN"),
    "lesson.paths.net_attention": ("attention", "注意力"),
    "lesson.paths.distance": ("distance in tokens", "距离（词元数）"),
    "lesson.paths.steps": ("steps", "步数"),
    "lesson.paths.steps_title": ("Steps from the first token to the last", "从第一个词元到最后一个的步数"),
    "lesson.paths.steps_alt": (
        "Steps against distance for a recurrent net, a convolution and attention.",
        "循环网络、卷积和注意力的步数随距离的变化。",
    ),
    "lesson.paths.gradient": ("gradient norm", "梯度范数"),
    "lesson.paths.gradient_title": ("What is left of the gradient", "梯度还剩多少"),
    "lesson.paths.gradient_alt": (
        "Norm of the gradient of the last output with respect to the first token, against distance.",
        "最后一个输出对第一个词元的梯度范数随距离的变化。",
    ),
    "lesson.paths.note": (
        "Untrained networks of width {width}, measured when shown, {seeds} seeds; bars are one standard deviation. Below "
        "{floor} nothing is drawn.",
        "宽度为 {width} 的未训练网络，显示时现场测量，{seeds} 个随机种子；误差棒是一个标准差。低于 {floor} 的部分不画。",
    ),
    "lesson.paths.layers.ask": (
        "A causal convolution with kernel 3: how many layers until the last token can see one that is {distance} places "
        "before it?",
        "因果卷积，核宽为 3：需要多少层，最后一个词元才能看到它前面第 {distance} 个词元？",
    ),
    "lesson.paths.layers.one": ("1", "1"),
    "lesson.paths.layers.half": ("{half}", "{half}"),
    "lesson.paths.layers.all": ("{distance}", "{distance}"),
    "lesson.paths.layers.one.why": (
        "One layer sees 2 places back and no further. It takes {layers}.",
        "一层只能往回看 2 个位置。需要 {layers} 层。",
    ),
    "lesson.paths.layers.half.why": (
        "Each layer adds 2 places to what is seen, so it takes {layers}.",
        "每层让视野增加 2 个位置，所以需要 {layers} 层。",
    ),
    "lesson.paths.layers.all.why": (
        "That would be a kernel of 2. With 3, each layer reaches 2 places further: {layers} layers.",
        "那是核宽为 2 的情况。核宽为 3 时每层多看 2 个位置：{layers} 层。",
    ),
    "lesson.paths.reach.ask": (
        "A plain RNN, untrained. The first token moves from distance 1 to distance {distance}: what becomes of the "
        "gradient that reaches it?",
        "普通的未训练 RNN。第一个词元的距离从 1 变到 {distance}：传到它那里的梯度会怎样？",
    ),
    "lesson.paths.reach.same": ("It stays about the same", "大致不变"),
    "lesson.paths.reach.share": ("It falls to about 1/{distance}", "降到约 1/{distance}"),
    "lesson.paths.reach.lost": ("It all but disappears", "几乎消失"),
    "lesson.paths.reach.same.why": (
        "Every step multiplies by one more matrix and one more slope of tanh: from {near} to {far}.",
        "每一步都要再乘一个矩阵和一个 tanh 的斜率：从 {near} 到 {far}。",
    ),
    "lesson.paths.reach.share.why": (
        "That would be a sum; this is a product of {distance} factors. Measured: from {near} to {far}.",
        "那是求和的情形；这里是 {distance} 个因子相乘。实测：从 {near} 到 {far}。",
    ),
    "lesson.paths.reach.lost.why": (
        "{distance} factors below 1 multiply: from {near} at distance 1 to {far}.",
        "{distance} 个小于 1 的因子相乘：距离为 1 时是 {near}，现在是 {far}。",
    ),
    "lesson.paths.attention.ask": (
        "And one layer of attention, when the distance goes from 1 to {distance}?",
        "换成一层注意力，距离从 1 变到 {distance} 呢？",
    ),
    "lesson.paths.attention.same": ("Exactly the same", "完全一样"),
    "lesson.paths.attention.share": ("It falls roughly like one over the number of keys", "大致按键数的倒数下降"),
    "lesson.paths.attention.lost": ("It all but disappears", "几乎消失"),
    "lesson.paths.attention.same.why": (
        "The path has one step at any distance, but {keys} keys now share the weight of 1: {near} becomes {far}.",
        "无论多远路径都只有一步，但现在 {keys} 个键共享权重 1：{near} 变为 {far}。",
    ),
    "lesson.paths.attention.share.why": (
        "From {near} to {far}: one step, but {keys} keys share the weight. A trained head can give it all to one key.",
        "从 {near} 到 {far}：只有一步，但 {keys} 个键分享权重。训练好的头可以把权重全给一个键。",
    ),
    "lesson.paths.attention.lost.why": (
        "Nothing is multiplied over and over here: {near} becomes {far}, no more.",
        "这里没有反复相乘：只是从 {near} 变为 {far}。",
    ),
    "lesson.paths.go": ("Open in the mask lab", "在掩码实验室打开"),
    "lesson.paths.go.why": (
        "A causal window of 3 keys is as short-sighted as a convolution. Below the mask, the lab shows how many layers it "
        "takes to reach every token.",
        "只看 3 个键的因果窗口和卷积一样短视。在掩码下方，实验室会显示要多少层才能到达每个词元。",
    ),
}
