"""A person before the app: opens it, waits until it is drawn, reads what stands in the figures."""

from typing import Any

from playwright.sync_api import ConsoleMessage, Page, Request, Response, WebSocket

SETTLED = """() => {
  const app = document.querySelector('[data-testid="stApp"]');
  return app && app.getAttribute('data-test-script-state') === 'notRunning'
    && !document.querySelector('[data-stale="true"]') && !document.querySelector('[data-testid="stSkeleton"]');
}"""
# Typed arrays become lists; NaN and infinities survive the way to Python.
TRACES = """plot => plot._fullData.map(trace => {
  const list = value => ArrayBuffer.isView(value) || Array.isArray(value) ? Array.from(value, list) : value;
  const read = {};
  for (const name of ['type', 'name', 'x', 'y', 'z', 'zmin', 'zmax', 'text', 'customdata', 'hovertemplate']) {
    if (trace[name] !== undefined) read[name] = list(trace[name]);
  }
  return read;
})"""


class Visitor:
    """One page in a context of its own.

    Attributes:
        page: playwright's page.
        complaints: errors and warnings of the console, uncaught errors, requests that failed or left this machine.
        received: bytes of websocket messages and media since ``forget_bytes``.
        sent: websocket messages to the server since ``forget_frames``.
    """

    def __init__(self, page: Page, server: str) -> None:
        self.page = page
        self.server = server
        self.complaints: list[str] = []
        self.received = 0
        self.sent: list[str | bytes] = []
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        page.on("requestfailed", lambda request: self.complaints.append(f"failed: {request.url} {request.failure}"))
        page.on("request", self._request)
        page.on("response", self._response)
        page.on("websocket", self._websocket)

    def open(self, path: str = "") -> None:
        """Goes to the app and waits until it is drawn."""
        self.page.goto(f"{self.server}/{path}")
        self.settle()

    def settle(self, timeout: float = 60) -> None:
        """Waits until the script has ended and no element is stale; ``timeout`` in seconds."""
        self.page.wait_for_function(SETTLED, timeout=timeout * 1000)

    def plot(self, key: str) -> Any:
        """Handle of the drawn Plotly figure below the widget or container with that key."""
        selector = f".st-key-{key} .js-plotly-plot"
        self.page.wait_for_function(
            "selector => document.querySelector(selector)?._fullLayout", arg=selector, timeout=30_000
        )
        return self.page.query_selector(selector)

    def traces(self, key: str) -> list[dict[str, Any]]:
        """What the figure really draws, trace by trace, with its arrays as lists."""
        return self.plot(key).evaluate(TRACES)

    def meta(self, key: str) -> Any:
        """``layout.meta`` of the figure."""
        return self.plot(key).evaluate("plot => plot.layout.meta")

    def wait_for_meta(self, key: str, expected: Any, timeout: float = 30) -> None:
        """Waits until the figure with that ``layout.meta`` is drawn and painted; ``timeout`` in seconds."""
        self.page.wait_for_function(
            """([selector, expected]) => {
                 const plot = document.querySelector(selector);
                 return plot?._fullLayout && JSON.stringify(plot.layout.meta) === JSON.stringify(expected);
               }""",
            arg=[f".st-key-{key} .js-plotly-plot", expected],
            timeout=timeout * 1000,
        )
        self.page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def forget_bytes(self) -> None:
        self.received = 0

    def forget_frames(self) -> None:
        """Both ways."""
        self.received = 0
        self.sent.clear()

    def _console(self, message: ConsoleMessage) -> None:
        probing = "/_stcore/" in message.location.get("url", "")  # below the page's address first, then where it is
        if message.type in ("error", "warning") and not probing:
            self.complaints.append(f"{message.type}: {message.text}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((self.server, "data:", "blob:")):
            self.complaints.append(f"left this machine: {request.url}")

    def _response(self, response: Response) -> None:
        if "/media/" in response.url:
            self.received += int(response.headers.get("content-length", 0))

    def _websocket(self, socket: WebSocket) -> None:
        def count(payload: str | bytes) -> None:
            self.received += len(payload if isinstance(payload, bytes) else payload.encode())

        socket.on("framereceived", count)
        socket.on("framesent", lambda payload: self.sent.append(payload))
