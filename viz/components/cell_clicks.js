// Plotly's heatmaps tell nobody of a click on a cell through Streamlit; this listens to the drawn figure itself.

export default function (component) {
  const { data, setTriggerValue, parentElement } = component;
  const state = parentElement.headscope ?? (parentElement.headscope = {});
  state.chart = data.chart;
  state.tell = setTriggerValue;
  clearInterval(state.timer);

  function listen() {
    const plot = document.querySelector(`.st-key-${state.chart} .js-plotly-plot`);
    if (!plot || !plot.on || plot === state.plot) return;
    state.plot = plot;
    plot.on("plotly_click", (event) => {
      const point = event.points.find((one) => Array.isArray(one.pointIndex ?? one.pointNumber));
      if (!point) return;
      const [row, column] = point.pointIndex ?? point.pointNumber;
      const block = point.data.meta?.block ?? [1, 1];
      state.tell("cell", { query: row * block[0], key: column * block[1] });
    });
  }

  listen();
  state.timer = setInterval(listen, 250); // a figure that changes is drawn anew
  return () => clearInterval(state.timer);
}
