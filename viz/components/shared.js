// Shared by the components. Text from outside only ever becomes text nodes; words come with the data.

const FORBIDDEN = 0, LEAK = 2, LOST = 3;

function unpack(data) {
  const bytes = data instanceof Uint8Array ? data : new Uint8Array(data);
  const start = 4 + new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, start)));
  const types = { float32: Float32Array, uint16: Uint16Array, uint8: Uint8Array };
  const arrays = {};
  for (const place of header.arrays) {
    const type = types[place.type];
    const size = place.shape.reduce((a, b) => a * b, 1) * type.BYTES_PER_ELEMENT;
    const from = bytes.byteOffset + start + place.start;
    arrays[place.name] = new type(bytes.buffer.slice(from, from + size));
    arrays[place.name].shape = place.shape;
  }
  return { header, arrays };
}

// Reads weights and states of any cell of any map.
function reader(header, arrays) {
  const weights = arrays.weights, states = arrays.states;
  const [maps, rows, columns] = weights.shape;
  const rounded = weights instanceof Uint16Array;
  const stride = Math.ceil((rows * columns) / 4);
  const shared = states && states.length === stride;
  return {
    maps, rows, columns, rounded,
    weight(map, i, j) {
      const raw = weights[(map * rows + i) * columns + j];
      if (!rounded) return raw;
      return raw === 65535 ? NaN : raw === 65534 ? Infinity : raw / header.units;
    },
    state(map, i, j) {
      if (!states) return 1;
      const cell = i * columns + j;
      return (states[(shared ? 0 : map * stride) + (cell >> 2)] >> (2 * (cell & 3))) & 3;
    },
    outside(map, i) {
      return arrays.outside ? arrays.outside[map * rows + i] : 0;
    },
  };
}

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

// A sentence with {placeholders}: each value stands alone, whatever direction it is written in.
function sentence(into, template, values) {
  into.replaceChildren();
  for (const part of template.split(/(\{\w+\})/)) {
    const name = /^\{(\w+)\}$/.exec(part);
    if (name && name[1] in values) {
      const value = element("bdi", "value", String(values[name[1]]));
      into.append(value);
    } else if (part) {
      into.append(part);
    }
  }
  return into;
}

function plain(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

// A number as short as it can be without saying 0 of what is not 0.
function number(value, header, rounded) {
  const words = header.words;
  if (Number.isNaN(value)) return words.nan;
  if (value === Infinity) return words.pos_inf;
  if (value === -Infinity) return words.neg_inf;
  if (value === 0) return "0";
  if (rounded && value * header.units < 1.5) return plain(words.below, { value: (1.5 / header.units).toFixed(5) });
  return Math.abs(value) < 0.0005 ? value.toExponential(1) : value.toFixed(4);
}

// What a cell is beside its number: "" where there is nothing to say.
function mark(value, state, header) {
  if (Number.isNaN(value)) return "nan";
  if (value === Infinity) return "pos_inf";
  if (value === -Infinity) return "neg_inf";
  if (state === LEAK) return "leak";
  if (state === LOST) return "lost";
  if (state === FORBIDDEN) return "not_allowed";
  if (value === 0) return "zero";
  return Math.abs(value) < header.small ? "tiny" : "";
}

function order(a, b) {
  return (Number.isNaN(b.value) ? Infinity : b.value) - (Number.isNaN(a.value) ? Infinity : a.value);
}

// A short list of the largest, with bars on the fixed scale from 0 to 1.
function fill(list, found, header, rounded) {
  list.replaceChildren();
  for (const one of found) {
    const item = element("li");
    if (one.swatch) {
      const swatch = element("span", "swatch");
      swatch.style.background = one.swatch;
      item.append(swatch);
    }
    const name = element("bdi", "name", one.label);
    const bar = element("span", "bar");
    bar.style.setProperty("--share", String(Math.max(0, Math.min(1, Number.isFinite(one.value) ? one.value : 0))));
    item.append(name);
    if (one.note) item.append(element("span", "note", one.note));
    item.append(bar, element("span", "number", number(one.value, header, rounded)));
    if (one.mark) item.append(element("span", "flag " + one.mark, header.words[one.mark]));
    list.append(item);
  }
}

function legendOf(kinds, marks, header) {
  const legend = element("ul", "legend");
  for (const kind of kinds) {
    const item = element("li");
    item.append(element("span", "sample token " + kind), element("span", "", header.words[kind]));
    legend.append(item);
  }
  for (const name of marks) {
    const item = element("li");
    item.append(element("span", "sample token " + name), element("span", "", header.words[name]));
    legend.append(item);
  }
  return legend;
}
