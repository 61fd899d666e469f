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

// "6 token" as its number and its token; the token stands alone, whatever direction it is written in.
function named(label, className) {
  const made = element("span", className);
  const cut = label.indexOf(" ");
  made.append(label.slice(0, cut + 1), element("bdi", "", label.slice(cut + 1)));
  return made;
}

// A sentence with {placeholders}; labels of tokens are written by named().
function sentence(into, template, values) {
  into.replaceChildren();
  for (const part of template.split(/(\{\w+\})/)) {
    const name = /^\{(\w+)\}$/.exec(part);
    if (name && name[1] in values) {
      into.append(name[1] === "value" || name[1] === "outside" ? values[name[1]] : named(values[name[1]], "value"));
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

function flagOf(mark, header) {
  return element("span", "flag " + mark, header.words[mark + "_short"] ?? header.words[mark]);
}

// Whether the page is dark; a canvas has to know.
function isDark(root) {
  const ground = getComputedStyle(root).getPropertyValue("--st-background-color");
  const probe = element("span");
  probe.style.color = ground;
  root.append(probe);
  const [red, green, blue] = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? [255, 255, 255]).map(Number);
  probe.remove();
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
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
    const name = named(one.label, "name");
    const bar = element("span", "bar");
    bar.style.setProperty("--share", String(Math.max(0, Math.min(1, Number.isFinite(one.value) ? one.value : 0))));
    item.append(name);
    if (one.note) item.append(element("span", "note", one.note));
    item.append(bar, element("span", "number", number(one.value, header, rounded)));
    if (one.mark) item.append(flagOf(one.mark, header));
    list.append(item);
  }
}

// What the kinds of tokens and the marks mean; of faults also how many there are.
function legendOf(kinds, marks, counts, header) {
  const legend = element("ul", "legend");
  for (const kind of kinds) {
    const item = element("li");
    item.append(element("span", "sample token " + kind), element("span", "", header.words[kind]));
    legend.append(item);
  }
  for (const name of marks) {
    const item = element("li");
    const count = ["leak", "lost", "nan", "pos_inf", "neg_inf"].includes(name) ? " (" + counts[name] + ")" : "";
    item.append(element("span", "sample token " + name), element("span", "", header.words[name] + count));
    legend.append(item);
  }
  return legend;
}
