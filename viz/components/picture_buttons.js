// Buttons that make plotly's own picture of a chart of this page, in the format asked for.
export default function ({ parentElement, data }) {
  const root = parentElement.querySelector(".root");
  const known = JSON.stringify(data);
  if (root.dataset.known === known) return;
  root.dataset.known = known;
  root.replaceChildren();
  const gone = document.createElement("span");
  gone.className = "gone";
  gone.setAttribute("role", "status");
  for (const format of data.formats) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "picture";
    button.dataset.format = format.id;
    button.textContent = format.label;
    button.addEventListener("click", () => {
      gone.textContent = save(data.chart, format.id, data.filename) ? "" : data.gone;
    });
    root.append(button);
  }
  root.append(gone);
}

function save(chart, format, filename) {
  const holder = document.getElementsByClassName("st-key-" + chart.replace(/[^a-zA-Z0-9_-]/g, "-"))[0];
  const drawn = holder?.querySelector(".js-plotly-plot");
  const camera = drawn?.querySelector('.modebar-btn[data-attr="toImage"], .modebar-btn[data-title*="Download"]');
  if (!camera || !drawn._context) return false;
  const options = drawn._context.toImageButtonOptions;
  const ground = drawn.layout.paper_bgcolor;
  drawn._context.toImageButtonOptions = { ...options, format, filename };
  drawn.layout.paper_bgcolor = getComputedStyle(document.querySelector(".stApp") ?? document.body).backgroundColor;
  try {
    camera.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  } finally {
    drawn._context.toImageButtonOptions = options;
    drawn.layout.paper_bgcolor = ground;
  }
  return true;
}
