"""Texts of the switches of a pretrained model that came later: layers, what stands in a head's place, a drawn mask."""

TEXTS: dict[str, tuple[str, str]] = {
    "explore.switch_layers": ("Layers that the switches act on", "开关作用的层"),
    "explore.switch_layers_help": (
        "Scaling, mask, window, temperature and softcap act in these layers alone; empty means all. Heads switched off name "
        "their own layer.",
        "缩放、掩码、窗口、温度与软上限只在这些层起作用；留空表示所有层。关闭的头自带所在的层。",
    ),
    "explore.all_layers": ("all layers", "所有层"),
    "explore.ablation": ("In the place of a head that is off", "关闭的头以什么代替"),
    "explore.ablation_help": (
        "Zero: its output is 0 before the output projection. Mean: its mean over the tokens of the text (in a decoder over the "
        "tokens so far), so that only what differs from token to token is lost.",
        "零：输出投影之前其输出为 0。均值：取它在文本各词元上的均值（解码器中取到当前词元为止），只失去随词元变化的部分。",
    ),
    "ablation.zero": ("Zero", "零"),
    "ablation.mean": ("Mean", "均值"),
    "switch.mask_custom": ("mask from the mask lab", "来自掩码实验室的掩码"),
    "switch.ablation": ("by their mean", "以均值代替"),
    "switch.layers": ("in layers {value} only", "仅第 {value} 层"),
}
