// Two columns of tokens and a line for each weight; the token pointed at, or pinned, keeps only its own lines.
const FAINTEST = 0.07; // of a line that is drawn at all

export default function ({ parentElement, data }) {
  const root = parentElement.querySelector(".root");
  const { header, arrays } = unpack(data);
  const dark = isDark(root);
  const revision = header.revision + (dark ? " dark" : " light");
  if (root.dataset.revision === revision) return () => root.watch?.disconnect();
  const words = header.words;
  const map = reader(header, arrays);
  const sides = [header.queries, header.keys];
  const known = sides.map((side) => side.map((piece) => piece.l).join("\n")).join("\n\n");
  const before = root.memory;
  const same = before && before.heads.length === map.maps;
  const moved = before && before.opened !== header.head; // another head was chosen on the page
  const memory = {
    known,
    pin: before && before.known === known ? before.pin : null,
    at: before && before.known === known ? before.at : null,
    heads: same && !moved ? before.heads : Array.from({ length: map.maps }, (_, head) => head === header.head),
    threshold: before ? before.threshold : header.threshold,
    opened: header.head,
  };
  memory.focus = memory.at ?? { side: 0, index: Math.max(0, header.queries.findIndex((piece) => !piece.k)) };
  root.memory = memory;
  const focused = parentElement.activeElement?.dataset?.place;

  root.style.setProperty("--leak", header.colours.leak);
  root.style.setProperty("--lost", header.colours.lost);
  const longest = Math.max(map.rows, map.columns);
  const step = longest <= 40 ? 26 : longest <= 100 ? 21 : 17;
  root.style.setProperty("--step", step + "px");
  root.style.setProperty("--size", step > 20 ? "0.9rem" : "0.75rem");

  // Hues by the golden angle: neighbours differ most, however many there are.
  const tone = dark ? " 75% 64% / " : " 80% 38% / ";
  const colour = (head, share = 1) => "hsl(" + ((200 + head * 137.508) % 360).toFixed(0) + tone + share.toFixed(3) + ")";

  const view = element("div", "view");
  const heads = element("div", "tools heads");
  heads.setAttribute("role", "group");
  heads.setAttribute("aria-label", words.heads);
  heads.append(element("span", "label", words.heads));
  const toggles = memory.heads.map((_, head) => {
    const button = element("button");
    button.type = "button";
    button.dataset.head = String(head);
    const swatch = element("span", "swatch");
    swatch.style.background = colour(head);
    button.setAttribute("aria-label", plain(words.head, { head }));
    button.append(swatch, String(head));
    button.addEventListener("click", () => { memory.heads[head] = !memory.heads[head]; toggled = true; show(); });
    heads.append(button);
    return button;
  });
  for (const [word, on] of [["all_heads", true], ["no_head", false]]) {
    const button = element("button", "", words[word]);
    button.type = "button";
    button.dataset.all = String(on);
    button.addEventListener("click", () => { memory.heads.fill(on); toggled = true; show(); });
    heads.append(button);
  }
  const thin = element("label", "thin");
  const select = element("select");
  for (const value of header.thresholds) {
    const option = element("option", "", String(value));
    option.value = String(value);
    option.selected = value === memory.threshold;
    select.append(option);
  }
  select.addEventListener("change", () => { memory.threshold = Number(select.value); toggled = true; show(); });
  thin.append(element("span", "label", words.threshold), " ", select);
  heads.append(thin);
  const note = element("p", "note-line");
  note.setAttribute("role", "status");

  const columns = element("div", "columns");
  columns.append(element("h3", "", words.queries), element("span"), element("h3", "", words.keys));
  // Two layers: all lines are painted once, those of the token pointed at each time.
  const middle = element("div", "middle");
  const [below, above] = ["below", "above"].map((name) => {
    const canvas = element("canvas", name);
    canvas.setAttribute("aria-hidden", "true"); // the tokens and the list beside them say the same
    middle.append(canvas);
    return canvas;
  });
  const tokens = sides.map((side, number) => {
    const column = element("div", "column " + (number ? "right" : "left"));
    column.setAttribute("role", "group");
    column.setAttribute("aria-label", number ? words.keys : words.queries);
    const made = side.map((piece, index) => {
      const token = element("div", "token" + (piece.k ? " " + piece.k : ""));
      token.append(element("span", "index", piece.l.slice(0, piece.l.indexOf(" "))), " ");
      const text = element("bdi", "", piece.t);
      token.append(text);
      token.setAttribute("role", "button");
      token.setAttribute("aria-label", piece.l);
      token.dataset.place = number + ":" + index;
      token.tabIndex = -1;
      column.append(token);
      return token;
    });
    if (number) columns.append(middle);
    columns.append(column);
    return made;
  });

  const panel = element("section", "panel");
  panel.setAttribute("aria-label", words.about);
  panel.setAttribute("aria-live", "polite");
  const title = element("h3");
  const list = element("ol");
  const sum = element("p", "sum");
  panel.append(title, list, sum, element("p", "hint", words.hint));

  let toggled = true, stale = true, together = [], wide = 1;
  const active = () => memory.heads.flatMap((on, head) => (on ? [head] : []));
  const height = Math.max(map.rows, map.columns) * step;
  middle.style.height = height + "px";

  function show() {
    memory.heads.forEach((on, head) => toggles[head].setAttribute("aria-pressed", String(on)));
    const at = memory.pin ?? memory.at;
    for (const side of tokens) {
      for (const token of side) {
        token.classList.remove("here", "leaking");
        token.style.removeProperty("--strips");
        delete token.dataset.weights;
        token.setAttribute("aria-pressed", "false");
      }
    }
    if (at) {
      const here = tokens[at.side][at.index];
      here.classList.add("here");
      here.setAttribute("aria-pressed", String(memory.pin !== null));
      shade(at);
    }
    describe(at);
    if (toggled) gather();
    toggled = false;
    below.hidden = Boolean(at);
    above.hidden = !at;
    if (at) paint(above, chosen(at), true);
    else if (stale) {
      paint(below, together, false);
      stale = false;
    }
    roving();
  }

  // Beside each token of the other column: a strip per head, as strong as its weight.
  function shade(at) {
    const on = active();
    tokens[1 - at.side].forEach((token, other) => {
      const [i, j] = at.side === 0 ? [at.index, other] : [other, at.index];
      const stops = [], numbers = [];
      on.forEach((head, place) => {
        const value = map.weight(head, i, j);
        const share = Number.isFinite(value) ? Math.max(0, Math.min(1, value)) : 0;
        stops.push(colour(head, share) + " " + (100 * place) / on.length + "% " + (100 * (place + 1)) / on.length + "%");
        numbers.push(head + ":" + value);
        if (map.state(head, i, j) === LEAK) token.classList.add("leaking");
      });
      if (stops.length) token.style.setProperty("--strips", "linear-gradient(90deg, " + stops.join(", ") + ")");
      token.dataset.weights = numbers.join(" ");
    });
  }

  function describe(at) {
    list.hidden = sum.hidden = !at;
    if (!at) { title.textContent = ""; return; }
    const piece = sides[at.side][at.index];
    sentence(title, at.side === 0 ? words.looks_at : words.looked_at_by, { token: piece.l });
    if (piece.k) title.append(element("span", "badge", words[piece.k]));
    if (memory.pin) title.append(element("span", "badge pinned", words.pinned));
    const found = [];
    let total = 0, away = 0;
    for (const head of active()) {
      if (at.side === 0) away += map.outside(head, at.index);
      for (let other = 0; other < sides[1 - at.side].length; other++) {
        const [i, j] = at.side === 0 ? [at.index, other] : [other, at.index];
        const value = map.weight(head, i, j);
        total += value;
        if (value === 0) continue;
        const flag = mark(value, map.state(head, i, j), header);
        found.push({
          label: sides[1 - at.side][other].l, value, mark: flag === "tiny" ? "" : flag,
          note: plain(words.head, { head }), swatch: colour(head),
        });
      }
    }
    fill(list, found.sort(order).slice(0, 5), header, map.rounded);
    const one = active().length === 1;
    sum.hidden = !(found.length === 0 || one);
    if (found.length === 0) sentence(sum, words.nothing, {});
    else if (one && at.side === 0 && arrays.outside) sentence(sum, words.sum_outside, { value: number(total, header, false), outside: number(away, header, false) });
    else if (one) sentence(sum, words.sum, { value: number(total, header, false) });
  }

  // Lines of all heads that are on, as [head, query, key, weight, is a leak], and the sentence on what is not drawn.
  function gather() {
    const usual = [], leaks = [], seen = new Set();
    let all = 0, odd = 0, leaking = 0;
    for (const head of active()) {
      for (let i = 0; i < map.rows; i++) {
        for (let j = 0; j < map.columns; j++) {
          const value = map.weight(head, i, j);
          if (value === 0) continue;
          all++;
          if (!Number.isFinite(value)) odd++;
          else if (map.state(head, i, j) === LEAK) {
            leaking++;
            leaks.push([head, i, j, value, true]);
          } else if (value >= memory.threshold) usual.push([head, i, j, value, false]);
        }
      }
    }
    const larger = (a, b) => b[3] - a[3];
    const most = header.most;
    const shown = leaks.sort(larger).filter(([, i, j]) => !seen.has(i * map.columns + j) && seen.add(i * map.columns + j)).slice(0, most);
    let kept = usual, threshold = memory.threshold;
    for (const next of header.thresholds) {
      if (kept.length <= most) break;
      if (next <= threshold) continue;
      threshold = next;
      kept = kept.filter((one) => one[3] >= next);
    }
    together = kept.sort((a, b) => a[3] - b[3]).concat(shown); // the largest lie on top, leaks over all
    stale = true;
    const grouped = (value) => value.toLocaleString("en-US");
    note.textContent = plain(words.drawn, { threshold, drawn: grouped(kept.length + leaking), all: grouped(all) });
    if (threshold !== memory.threshold || shown.length === most) note.append(" ", plain(words.thinned, { most: grouped(most) }));
    if (leaking) note.append(" ", element("span", "flag leak", words.leak + ": " + grouped(leaking)));
    if (odd) note.append(" ", plain(words.not_numbers, { count: grouped(odd) }));
    note.dataset.drawn = String(kept.length + leaking);
    note.dataset.all = String(all);
    note.dataset.leaks = String(leaking);
  }

  // Lines of one token: a leak however small, the others from the threshold on.
  function chosen(at) {
    const found = [];
    for (const head of active()) {
      for (let other = 0; other < sides[1 - at.side].length; other++) {
        const [i, j] = at.side === 0 ? [at.index, other] : [other, at.index];
        const value = map.weight(head, i, j);
        if (value === 0 || !Number.isFinite(value)) continue;
        const leak = map.state(head, i, j) === LEAK;
        if (leak || value >= memory.threshold) found.push([head, i, j, value, leak]);
      }
    }
    return found.sort((a, b) => a[4] - b[4] || a[3] - b[3]);
  }

  // One stroke per line, and thin ones where there are many: a path of thousands takes seconds to fill.
  function paint(canvas, lines, few) {
    const width = Math.max(1, Math.round(wide));
    const ratio = Math.min(window.devicePixelRatio || 1, 16000 / height, 2);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.lineWidth = few || lines.length < 1500 ? (few ? 2 : 1.5) : 1 / ratio;
    for (const [head, i, j, value, leak] of lines) {
      if (leak && few) pen.setLineDash([5, 3]);
      pen.strokeStyle = leak ? header.colours.leak : colour(head, FAINTEST + (1 - FAINTEST) * Math.min(1, value));
      pen.beginPath();
      pen.moveTo(0, (i + 0.5) * step);
      pen.lineTo(width, (j + 0.5) * step);
      pen.stroke();
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
    memory.focus = where;
    memory.at = where;
    if (memory.pin) roving();
    else show();
  }

  function pin(where) {
    const again = memory.pin && where && memory.pin.side === where.side && memory.pin.index === where.index;
    memory.pin = again ? null : where;
    memory.at = memory.focus = where;
    show();
  }

  function roving() {
    for (const side of tokens) for (const token of side) token.tabIndex = -1;
    tokens[memory.focus.side][memory.focus.index].tabIndex = 0;
    const other = tokens[1 - memory.focus.side];
    other[Math.min(memory.focus.index, other.length - 1)].tabIndex = 0;
  }

  columns.addEventListener("pointerover", (event) => { if (event.pointerType !== "touch") point(place(event.target)); });
  columns.addEventListener("pointerleave", () => { if (!memory.pin && !columns.contains(parentElement.activeElement)) { memory.at = null; show(); } });
  columns.addEventListener("focusin", (event) => point(place(event.target)));
  columns.addEventListener("click", (event) => { const where = place(event.target); if (where) pin(where); });
  columns.addEventListener("keydown", (event) => {
    const where = place(event.target);
    if (!where) return;
    const steps = { ArrowDown: 1, ArrowUp: -1 };
    if (event.key === "Enter" || event.key === " ") pin(where);
    else if (event.key === "Escape") { memory.pin = null; memory.at = where; show(); }
    else if (event.key === "ArrowLeft" || event.key === "ArrowRight") go({ side: event.key === "ArrowLeft" ? 0 : 1, index: where.index });
    else if (event.key in steps) go({ side: where.side, index: where.index + steps[event.key] });
    else if (event.key === "Home") go({ side: where.side, index: 0 });
    else if (event.key === "End") go({ side: where.side, index: tokens[where.side].length - 1 });
    else return;
    event.preventDefault();
  });

  function go(to) {
    const index = Math.max(0, Math.min(tokens[to.side].length - 1, to.index));
    memory.focus = { side: to.side, index };
    roving();
    tokens[to.side][index].focus();
  }

  const kinds = ["special", "typed_special", "padding", "unknown"].filter((kind) => sides.some((side) => side.some((p) => p.k === kind)));
  view.append(heads, note, columns, panel, legendOf(kinds, [], {}, header));
  root.replaceChildren(view);
  root.dataset.revision = revision;
  wide = middle.getBoundingClientRect().width;
  show();
  root.watch?.disconnect();
  root.watch = new ResizeObserver(() => {
    const now = middle.getBoundingClientRect().width;
    if (now !== wide) { wide = now; stale = true; show(); }
  });
  root.watch.observe(middle);
  if (focused) {
    const again = root.querySelector('[data-place="' + focused + '"]');
    if (again) again.focus();
  }
  return () => root.watch?.disconnect();
}
