"""Texts of the page frame."""

TEXTS: dict[str, tuple[str, str]] = {
    "frame.name": ("Headscope", "Headscope"),
    "frame.line": (
        "Attention weights, and whether they are right",
        "看清注意力权重，也看清它们对不对",
    ),
    "frame.about": (
        "Headscope shows what each attention head computes, with the computation in your hands. "
        "The picture is the computation: its own attention runs inside the real model.",
        "Headscope 展示每个注意力头的计算，并让你动手改变它。图即计算：真实模型内部运行的就是这里的注意力实现。",
    ),
    "frame.language": ("Language", "语言"),
    "frame.present": ("Present", "演示"),
    "frame.present_help": (
        "For a class: large letters, no side bar, a lesson screen by screen. The link keeps it.",
        "面向课堂：大字号，隐藏侧栏，课程逐屏显示。链接里会保留。",
    ),
    "frame.leave": ("Leave", "退出"),
    "frame.leave_help": ("Back to the page with its side bar and navigation.", "回到带侧栏和导航的页面。"),
    "frame.failed": (
        "This page could not be drawn. What you typed is kept: change a setting to try again, or reload the page.",
        "页面未能显示。你输入的内容仍然保留：更改任一设置即会重试，也可以刷新页面。",
    ),
    "frame.failed_detail": (
        "The details are in the server's log under reference {reference}.",
        "详细信息见服务器日志，编号 {reference}。",
    ),
}
