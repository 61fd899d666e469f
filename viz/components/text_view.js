// A text as its tokens: the one pointed at, or pinned, shades the others by the weight between them.
export default function ({ parentElement, data }) {
  const root = parentElement.querySelector(".root");
  const { header, arrays } = unpack(data);
  if (root.dataset.revision === header.revision) return;
  const words = header.words;
  const map = reader(header, arrays);
  const own = header.keys === null; // one text that looks at itself
  const sides = own ? [header.queries] : [header.queries, header.keys];
  const known = sides.map((side) => side.map((piece) => piece.l).join("\n")).join("\n\n");
  const before = root.memory;
  const memory = before && before.known === known ? before : { known, pin: null, direction: before?.direction ?? "row" };
  if (memory.at === undefined) memory.at = { side: 0, index: Math.max(0, header.queries.findIndex((p) => !p.k)) };
  root.memory = memory;
  const focused = parentElement.activeElement?.dataset?.place;

  root.style.setProperty("--leak", header.colours.leak);
  root.style.setProperty("--lost", header.colours.lost);
  const view = element("div", "view");
  const tools = element("div", "tools");
  const blocks = element("div", "blocks");
  const panel = element("section", "panel");
  panel.setAttribute("aria-label", words.about);
  const tokens = [];
  const buttons = {};

  if (own) {
    const group = element("span", "tools");
    group.setAttribute("role", "group");
    group.setAttribute("aria-label", words.direction);
    group.append(element("span", "label", words.direction));
    for (const direction of ["row", "column"]) {
      const button = element("button", "", direction === "row" ? words.shade_row : words.shade_column);
      button.type = "button";
      button.dataset.direction = direction;
      button.addEventListener("click", () => { memory.direction = direction; show(); });
      buttons[direction] = button;
      group.append(button);
    }
    tools.append(group);
  }
  const scale = element("span", "scale");
  const ramp = element("span", "ramp");
  ramp.setAttribute("aria-hidden", "true");
  const name = { fixed: "scale_fixed", "row-max": "scale_row_max", log: "scale_log" }[header.scale];
  scale.append(ramp, element("span", "", words[name]));
  tools.append(scale);

  sides.forEach((side, number) => {
    const block = element("div", "block");
    if (!own) block.append(element("h3", "", number ? words.keys : words.queries));
    const text = element("div", "text");
    text.dir = "auto";
    text.setAttribute("role", "group");
    text.setAttribute("aria-label", number ? words.keys : own ? words.about : words.queries);
    tokens.push(side.map((piece, index) => {
      if (piece.g) text.append(piece.g);
      const token = element("span", "token" + (piece.k ? " " + piece.k : ""), piece.t);
      if (piece.k) token.dir = "auto"; // not part of the sentence: it has no say in the direction
      token.setAttribute("role", "button");
      token.setAttribute("aria-label", piece.l);
      token.dataset.place = number + ":" + index;
      token.tabIndex = -1;
      text.append(token);
      return token;
    }));
    block.append(text);
    blocks.append(block);
  });

  const between = element("p", "between");
  const lists = ["row", "column"].map((direction) => ({ direction, head: element("h3"), list: element("ol"), sum: element("p", "sum") }));
  const hint = element("p", "hint", words.hint);
  for (const part of lists) panel.append(part.head, part.list, part.sum);
  panel.append(between, hint);
  panel.setAttribute("aria-live", "polite");

  const largest = new Float64Array(map.rows);
  if (header.scale === "row-max") {
    for (let i = 0; i < map.rows; i++) {
      for (let j = 0; j < map.columns; j++) {
        const value = map.weight(0, i, j);
        if (Number.isFinite(value) && value > largest[i]) largest[i] = value;
      }
    }
  }

  function strength(value, row) {
    if (!(value > 0)) return 0; // NaN has a mark, not a shade
    if (header.scale === "log") return Math.max(0, Math.min(1, 1 - Math.log10(value) / header.floor));
    return Math.max(0, Math.min(1, header.scale === "row-max" ? value / (largest[row] || 1) : value));
  }

  // The cells of a row (where a query looks) or of a column (who looks at a key).
  function cells(direction, index) {
    const count = direction === "row" ? map.columns : map.rows;
    const others = own ? header.queries : direction === "row" ? header.keys : header.queries;
    return Array.from({ length: count }, (_, other) => {
      const [i, j] = direction === "row" ? [index, other] : [other, index];
      const value = map.weight(0, i, j);
      const state = map.state(0, i, j);
      return { other, value, state, strength: strength(value, i), mark: mark(value, state, header), label: others[other].l };
    });
  }

  function directions(place) {
    return own ? ["row", "column"] : [place.side === 0 ? "row" : "column"];
  }

  const flags = ["leak", "lost", "not_allowed", "zero", "tiny", "nan", "pos_inf", "neg_inf"];
  function show() {
    const at = memory.pin ?? memory.at;
    const direction = own ? memory.direction : directions(at)[0];
    const shaded = tokens[own ? 0 : 1 - at.side];
    for (const list of tokens) {
      for (const token of list) {
        token.classList.remove("here", "strong", ...flags);
        token.style.removeProperty("--strength");
        delete token.dataset.weight;
        token.setAttribute("aria-pressed", "false");
      }
    }
    for (const cell of cells(direction, at.index)) {
      const token = shaded[cell.other];
      token.style.setProperty("--strength", cell.strength.toFixed(4));
      token.dataset.weight = String(cell.value);
      token.classList.toggle("strong", cell.strength > 0.5);
      if (cell.mark) token.classList.add(cell.mark);
    }
    const here = tokens[at.side][at.index];
    here.classList.add("here");
    here.setAttribute("aria-pressed", String(memory.pin !== null));
    for (const [name, button] of Object.entries(buttons)) button.setAttribute("aria-pressed", String(name === direction));
    describe(at);
    roving();
  }

  function describe(at) {
    const piece = sides[at.side][at.index];
    const shown = directions(at);
    for (const part of lists) {
      const used = shown.includes(part.direction);
      part.head.hidden = part.list.hidden = part.sum.hidden = !used;
      if (!used) continue;
      const found = cells(part.direction, at.index);
      const row = part.direction === "row";
      sentence(part.head, row ? words.looks_at : words.looked_at_by, { token: piece.l });
      if (part.direction === shown[0]) {
        if (piece.k) part.head.append(element("span", "badge", words[piece.k]));
        if (memory.pin) part.head.append(element("span", "badge pinned", words.pinned));
      }
      const top = found.filter((cell) => cell.value !== 0).sort(order).slice(0, 5);
      for (const cell of top) if (cell.mark === "tiny") cell.mark = "";
      part.list.dataset.direction = part.direction;
      fill(part.list, top, header, map.rounded);
      let total = 0;
      for (const cell of found) total += cell.value;
      const away = row ? map.outside(0, at.index) : 0;
      if (top.length === 0) sentence(part.sum, words.nothing, {});
      else if (row && arrays.outside) sentence(part.sum, words.sum_outside, { value: number(total, header, false), outside: number(away, header, false) });
      else sentence(part.sum, words.sum, { value: number(total, header, false) });
    }
    pair(null);
  }

  // With one token pinned, pointing at another names the two numbers between them.
  function pair(place) {
    between.replaceChildren();
    if (!memory.pin || !place || (own ? place.index === memory.pin.index : place.side === memory.pin.side)) return;
    const name = (one) => sides[one.side][one.index].l;
    for (const direction of directions(memory.pin)) {
      const [i, j] = direction === "row" ? [memory.pin.index, place.index] : [place.index, memory.pin.index];
      const query = direction === "row" ? memory.pin : place;
      const key = direction === "row" ? place : memory.pin;
      const line = element("span");
      const value = map.weight(0, i, j);
      sentence(line, words.between, { query: name(query), key: name(key), value: number(value, header, map.rounded) });
      const flag = mark(value, map.state(0, i, j), header);
      if (flag) line.append(" ", flagOf(flag, header));
      between.append(line, document.createElement("br"));
    }
  }

  function place(target) {
    const found = target.closest?.("[data-place]");
    if (!found) return null;
    const [side, index] = found.dataset.place.split(":").map(Number);
    return { side, index };
  }

  function point(where) {
    if (!where) return;
    memory.at = where;
    if (memory.pin) pair(where);
    else show();
  }

  function pin(where) {
    const again = memory.pin && where && memory.pin.side === where.side && memory.pin.index === where.index;
    memory.pin = again ? null : where;
    if (where) memory.at = where;
    show();
  }

  function roving() {
    for (const list of tokens) for (const token of list) token.tabIndex = -1;
    tokens[memory.at.side][memory.at.index].tabIndex = 0;
    if (!own) {
      const other = 1 - memory.at.side;
      tokens[other][memory.at.index < tokens[other].length ? memory.at.index : 0].tabIndex = 0;
    }
  }

  blocks.addEventListener("pointerover", (event) => { if (event.pointerType !== "touch") point(place(event.target)); });
  blocks.addEventListener("focusin", (event) => point(place(event.target)));
  blocks.addEventListener("click", (event) => { const where = place(event.target); if (where) pin(where); });
  blocks.addEventListener("keydown", (event) => {
    const where = place(event.target);
    if (!where) return;
    const last = tokens[where.side].length - 1;
    const rtl = getComputedStyle(tokens[where.side][where.index].parentElement).direction === "rtl" ? -1 : 1;
    const steps = { ArrowRight: rtl, ArrowDown: 1, ArrowLeft: -rtl, ArrowUp: -1 };
    if (event.key === "Enter" || event.key === " ") pin(where);
    else if (event.key === "Escape") { memory.pin = null; memory.at = where; show(); }
    else if (event.key in steps || event.key === "Home" || event.key === "End") {
      const to = event.key === "Home" ? 0 : event.key === "End" ? last : where.index + steps[event.key];
      const index = Math.max(0, Math.min(last, to));
      memory.at = { side: where.side, index };
      roving();
      tokens[where.side][index].focus();
    } else return;
    event.preventDefault();
  });

  const kinds = ["special", "typed_special", "padding", "unknown"].filter((kind) => sides.some((side) => side.some((p) => p.k === kind)));
  const seen = {};
  for (let i = 0; i < map.rows; i++) {
    for (let j = 0; j < map.columns; j++) {
      const flag = mark(map.weight(0, i, j), map.state(0, i, j), header);
      seen[flag] = (seen[flag] ?? 0) + 1;
      if (flag === "leak") tokens[0][i].classList.add("leaks"); // seen before anybody points at it
    }
  }
  view.append(tools, blocks, panel, legendOf(kinds, flags.filter((flag) => seen[flag]), seen, header));
  root.replaceChildren(view);
  root.dataset.revision = header.revision;
  show();
  if (focused) {
    const again = root.querySelector('[data-place="' + focused + '"]');
    if (again) again.focus();
  }
}
