"""Texts of lesson 2, query, key and value."""

TEXTS: dict[str, tuple[str, str]] = {
    "lesson.lookup.angle": ("Direction of the query, degrees", "查询的方向（度）"),
    "lesson.lookup.angle.help": (
        "Where the query q points: 0° asks for beings, 90° for places.",
        "查询 q 指向哪里：0° 表示找生物，90° 表示找地点。",
    ),
    "lesson.lookup.length": ("Length of the query", "查询的长度"),
    "lesson.lookup.length.help": (
        "Every score q · k grows in proportion to the length of q.",
        "每个分数 q · k 都与 q 的长度成正比。",
    ),
    "lesson.lookup.token_0": ("cat", "猫"),
    "lesson.lookup.token_1": ("kitten", "小猫"),
    "lesson.lookup.token_2": ("mat", "垫子"),
    "lesson.lookup.token_3": ("soon", "马上"),
    "lesson.lookup.query": ("query", "查询"),
    "lesson.lookup.keys": ("keys", "键"),
    "lesson.lookup.being": ("feature 0: is a being", "特征 0：是生物"),
    "lesson.lookup.place": ("feature 1: is a place", "特征 1：是地点"),
    "lesson.lookup.weights": ("Weights", "权重"),
    "lesson.lookup.plane_alt": (
        "Four keys as points in a plane, as large as their weight, and the query as an arrow.",
        "平面上的四个键，点的大小表示权重；箭头是查询。",
    ),
    "lesson.lookup.weights_alt": ("The four weights of the query.", "该查询的四个权重。"),
    "lesson.lookup.column_token": ("token", "词元"),
    "lesson.lookup.column_key": ("key k", "键 k"),
    "lesson.lookup.column_score": ("q · k", "q · k"),
    "lesson.lookup.column_scaled": ("/ √2", "/ √2"),
    "lesson.lookup.column_weight": ("weight", "权重"),
    "lesson.lookup.column_value": ("value v", "值 v"),
    "lesson.lookup.read": (
        "The query {query} reads **{output}**: the sum of all values, each times its weight.",
        "查询 {query} 读到 **{output}**：所有值各乘自己的权重后相加。",
    ),
    "lesson.lookup.longer.ask": (
        "The query points exactly where the key of “{second}” points. The key of “{first}” has the same direction and is "
        "twice as long. Who gets the largest weight?",
        "查询与“{second}”的键方向完全相同。“{first}”的键方向也一样，但长一倍。谁的权重最大？",
    ),
    "lesson.lookup.longer.first": ("{first}", "{first}"),
    "lesson.lookup.longer.second": ("{second}", "{second}"),
    "lesson.lookup.longer.third": ("{third}", "{third}"),
    "lesson.lookup.longer.first.why": (
        "The dot product counts length as well as direction: {s0} against {s1}, so the weights are {w0} and {w1}.",
        "点积既看方向也看长度：{s0} 对 {s1}，所以权重是 {w0} 和 {w1}。",
    ),
    "lesson.lookup.longer.second.why": (
        "The direction fits, but a dot product is not a cosine: the longer key scores higher, {s0} against {s1}.",
        "方向确实一致，但点积不是余弦：更长的键得分更高，{s0} 对 {s1}。",
    ),
    "lesson.lookup.longer.third.why": (
        "That key stands almost at a right angle to the query; its score is only {s2}.",
        "那个键与查询几乎垂直，分数只有 {s2}。",
    ),
    "lesson.lookup.alike.ask": (
        "Suppose all four tokens had the same key. What would the query read?",
        "假设四个词元的键完全相同，查询会读到什么？",
    ),
    "lesson.lookup.alike.average": ("The plain average of the four values", "四个值的普通平均"),
    "lesson.lookup.alike.first": ("The value of the first token", "第一个词元的值"),
    "lesson.lookup.alike.nothing": ("Nothing: no key stands out", "什么也读不到：没有哪个键突出"),
    "lesson.lookup.alike.average.why": (
        "Equal scores give equal weights, {weight} each, so the output is the average, {output}.",
        "分数相同，权重也相同，各为 {weight}，所以输出是平均值 {output}。",
    ),
    "lesson.lookup.alike.first.why": (
        "Softmax takes no notice of order. Each weight is {weight}.",
        "softmax 不看先后。每个权重都是 {weight}。",
    ),
    "lesson.lookup.alike.nothing.why": (
        "Softmax always hands out a total of 1; here each token gets {weight}.",
        "softmax 总要分完 1；这里每个词元得到 {weight}。",
    ),
    "lesson.lookup.moved.ask": (
        "Now only the value of the first token changes. What moves?",
        "现在只改变第一个词元的值。什么会变？",
    ),
    "lesson.lookup.moved.weights": ("The weights only", "只有权重"),
    "lesson.lookup.moved.output": ("The output only", "只有输出"),
    "lesson.lookup.moved.both": ("Both", "两者都变"),
    "lesson.lookup.moved.weights.why": (
        "Weights come from queries and keys alone. They moved by {weights}, the output by {output}.",
        "权重只由查询和键决定。权重变了 {weights}，输出变了 {output}。",
    ),
    "lesson.lookup.moved.output.why": (
        "The weights moved by {weights}, the output by {output}: a value is what is read, not how it is found.",
        "权重变了 {weights}，输出变了 {output}：值是被读出的内容，不影响怎样找到它。",
    ),
    "lesson.lookup.moved.both.why": (
        "Values do not enter the scores. The weights moved by {weights}, the output by {output}.",
        "值不参与打分。权重变了 {weights}，输出变了 {output}。",
    ),
    "lesson.lookup.go": ("Open in Explore", "在探索页打开"),
    "lesson.lookup.go.why": (
        "The same with one head and d_k 2 on a whole sentence: look at the scores, then at the weights.",
        "在整句话上做同样的事，一个头，d_k 为 2：先看分数，再看权重。",
    ),
    "lesson.lookup.go.text": ("The kitten sleeps on the mat.", "小猫在垫子上睡觉。"),
}
