"""The foot of the pages: what can be taken along."""

TEXTS: dict[str, tuple[str, str]] = {
    "take.title": ("Take it away", "带走结果"),
    "take.open": ("Pictures, numbers and code", "图片、数据与代码"),
    "take.open_help": (
        "Every chart of this page as PNG, SVG or a page of its own; the numbers of the layer; the Python lines that "
        "compute and draw the same.",
        "将本页每张图存为 PNG、SVG 或独立网页；导出本层的数据；以及计算并绘制同样结果的 Python 代码。",
    ),
    "take.charts": ("Take the charts away", "带走图表"),
    "take.charts_help": (
        "Every chart of this page as PNG, SVG or a page of its own that opens without a network.",
        "将本页每张图存为 PNG、SVG 或无需网络即可打开的独立网页。",
    ),
    "take.pictures": ("Pictures", "图片"),
    "take.pictures_note": (
        "PNG and SVG are made in this browser. HTML is one file of about 5 MB that opens without a network.",
        "PNG 和 SVG 在浏览器中生成。HTML 是一个约 5 MB 的独立文件，无需网络即可打开。",
    ),
    "take.no_pictures": (
        "This view has no chart to take along; its numbers and code are below.",
        "此视图没有可带走的图表；数据和代码见下方。",
    ),
    "take.png": ("PNG", "PNG"),
    "take.svg": ("SVG", "SVG"),
    "take.gone": ("The chart is no longer on the page.", "图表已不在页面上。"),
    "take.html": ("HTML", "HTML"),
    "take.numbers": ("Numbers", "数据"),
    "take.numbers_note": (
        "Layer {layer}: tokens, both masks, settings and versions go along. NPZ and JSON hold all {heads} heads at every "
        "stage, CSV one line per cell of head {head}.",
        "第 {layer} 层：词元、两种掩码、设置和版本一并导出。NPZ 和 JSON 含全部 {heads} 个头的每个阶段，CSV 为第 {head} 个头，每个单元格一行。",
    ),
    "take.npz": ("NPZ, all heads", "NPZ（所有头）"),
    "take.csv": ("CSV, head {head}", "CSV（头 {head}）"),
    "take.json": ("JSON, all heads", "JSON（所有头）"),
    "take.npz_view": ("NPZ", "NPZ"),
    "take.csv_view": ("CSV, {table}", "CSV（{table}）"),
    "take.json_view": ("JSON", "JSON"),
    "take.table_heads": ("heads", "注意力头"),
    "take.table_flow": ("both maps", "两张图"),
    "take.table_a": ("A", "A"),
    "take.table_b": ("B", "B"),
    "take.table_difference": ("difference", "差值"),
    "take.table_head": ("all stages", "所有阶段"),
    "take.table_map": ("map", "权重图"),
    "take.table_outside": ("outside the part shown", "所示部分之外"),
    "take.numbers_overview": (
        "Every head by layer: the score of each pattern with its chance level, the statistics, leaks, heads that are "
        "off. Settings and versions go along.",
        "按层列出每个头：各模式的得分及其随机水平、统计量、泄漏、已关闭的头。设置和版本一并导出。",
    ),
    "take.numbers_flow": (
        "The rollout and the plain mean of its last layer, with the tokens of both sides. Settings and versions go along.",
        "rollout 与其最后一层的简单平均，含两侧词元。设置和版本一并导出。",
    ),
    "take.numbers_compare": (
        "A and B with their own tokens and masks, and their difference where cells belong together. Settings of both and "
        "versions go along.",
        "A 与 B 及各自的词元和掩码；单元格能对应时还有二者之差。双方的设置和版本一并导出。",
    ),
    "take.numbers_head_map": (
        "The effect of switching off each head, by layer, under the name of its measure. Settings and versions go along.",
        "按层列出关闭每个头的效应，以其度量命名。设置和版本一并导出。",
    ),
    "take.numbers_stages": (
        "This head at every stage, weights × |v| too, with tokens and both masks. Settings and versions go along.",
        "此头的每个阶段（含 权重 × |v|），以及词元和两种掩码。设置和版本一并导出。",
    ),
    "take.numbers_text": (
        "The map that shades the text, as far as it is shown, with its tokens or words and both masks. Settings and "
        "versions go along.",
        "为文本着色的权重图（所示部分），含词元或单词以及两种掩码。设置和版本一并导出。",
    ),
    "take.table_steps": ("tokens", "词元"),
    "take.table_candidates": ("candidates", "候选词"),
    "take.numbers_writing": (
        "The map of this head with a row per token that asked, the written tokens with their probabilities, and the "
        "candidates of each step. Settings and versions go along.",
        "此头的权重图（每个发出查询的词元一行）、写出的词元及其概率、每一步的候选词。设置和版本一并导出。",
    ),
    "take.python": ("As Python", "Python 代码"),
    "take.python_note": (
        "Runs in a notebook from the folder of this project and gives the same numbers.",
        "在本项目目录下的 notebook 中运行，得到相同的数值。",
    ),
    "take.link": (
        "The address of this page holds the text, the switches and the view: whoever opens it sees the same.",
        "本页地址包含文本、开关和视图：任何人打开都会看到相同的内容。",
    ),
}
