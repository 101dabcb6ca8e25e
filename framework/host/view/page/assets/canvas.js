// The canvas: one element a position, changed only where a step changed it.

function makeCanvas(root, trace) {
  let row, c, spans = [], shown = [], layout = "text", by = "step", at = 0, picked = -1;

  const grid = () => {
    const g = trace.header.grid;
    return g && row && !trace.header.growth && g.rows * g.cols === row.start.length ? g : null;
  };

  // tracks are the cells of a line, with a narrow track after each box.
  function tracks(n, box) {
    const out = [];
    for (let i = 0; i < n; i++) {
      if (i > 0 && i % box === 0) out.push("4px");
      out.push("var(--cell)");
    }
    return out.join(" ");
  }

  function build(newRow) {
    row = newRow;
    c = course(trace, row);
    const g = layout === "grid" && grid();
    const final = row.end?.tokens, place = new Map(c.final.map((cell, i) => [cell, i]));
    root.className = "canvas " + (g ? "as-grid" : "as-text");
    root.style.setProperty("--cols", g ? g.cols : 1);
    const [high, wide] = g?.box?.length === 2 && g.box.every(n => n > 0) ? g.box : [Infinity, Infinity];
    root.style.gridTemplateColumns = g ? tracks(g.cols, wide) : "";
    root.style.gridTemplateRows = g ? tracks(g.rows, high) : "";
    spans = c.cells.map((cell, i) => {
      const e = document.createElement("span");
      e.dataset.i = i;
      const end = place.get(cell); // undefined where the cell left the row
      cell.last = final?.[end] !== undefined && final[end] !== trace.mask ? final[end] : cell.changes.at(-1).token;
      cell.cut = final !== undefined && final.length > 0 && end >= final.length;
      if (g) {
        const y = Math.floor(i / g.cols), x = i % g.cols;
        e.style.gridColumn = x + 1 + Math.floor(x / wide);
        e.style.gridRow = y + 1 + Math.floor(y / high);
      }
      return e;
    });
    shown = new Array(spans.length);
    root.replaceChildren(...spans);
    root.parentElement.classList.toggle("beside", Boolean(g));
    picked = Math.min(picked, spans.length - 1);
  }

  // hue and lightness of a value from 0 to 1: violet to yellow for steps, orange to blue for confidence.
  const shade = v => by !== "confidence" ? [295 - 205 * v, -0.045 + 0.09 * v] : [45 + 205 * v ** 1.5, 0.02 - 0.04 * Math.abs(v - 0.5)];

  // value is what a cell is coloured by, from 0 to 1; null where it is not known, undefined where the cell has no colour.
  function value(cell, change) {
    const moment = k => Math.min(Math.max((k - 1) / Math.max(c.n - 1, 1), 0), 1);
    if (by === "birth") return cell.born > 0 ? moment(cell.born) : undefined;
    if (change.token < 0 || change.kind === "given") return undefined;
    if (by === "step") return moment(change.at);
    return change.logp === null ? null : Math.exp(change.logp);
  }

  function paint(e, cell, i) {
    const here = lives(cell, at);
    if (e.hidden === here) e.hidden = !here;
    if (!here) return;
    const change = latest(cell.changes, at), masked = change.token < 0;
    const guess = masked ? latest(cell.guesses, at) : null;
    const revised = cell.changes.some(x => x.at <= at && x.kind === "remask");
    const key = [change.at, change.token, guess?.token, change.at === at, by, i === picked].join();
    if (shown[i] === key) return;
    shown[i] = key;
    const list = ["t"], v = value(cell, change);
    if (typeof v === "number") {
      const [hue, light] = shade(Math.min(Math.max(v, 0), 1));
      e.style.setProperty("--h", hue.toFixed(1));
      e.style.setProperty("--dl", light.toFixed(3));
    }
    if (i === picked) list.push("picked");
    if (cell.cut) list.push("cut");
    if (masked) {
      list.push("blank");
      if (change.kind === "remask") list.push("remasked");
      if (change.kind === "insert" && change.at === at) list.push("newborn");
      if (v !== undefined) list.push("dated");
      if (change.at === at && at > 0) list.push("now");
      const last = cell.last >= 0 ? spell(trace, cell.last) : {text: "·"};
      if (last.text.endsWith("↵")) list.push("breaks");
      const hold = element("i", {}, shape(last));
      e.replaceChildren(hold);
      if (guess) e.append(element("b", {}, shape(spell(trace, guess.token))));
    } else {
      const s = spell(trace, change.token);
      if (s.special) list.push("special");
      if (s.text.endsWith("↵")) list.push("breaks");
      if (change.kind === "given") list.push(cell.given ? "given" : "free");
      else {
        if (v === null) list.push("unknown");
        if (v === undefined) list.push("plain"); // it was there from the start, and births are asked for
        list.push("open");
        if (revised) list.push("revised");
        if (change.kind === "rewrite") list.push("overwritten");
        if (change.at === at) list.push("now");
      }
      e.replaceChildren(shape(s));
    }
    e.className = list.join(" ");
  }

  // shape is a token's text as it takes place: a line break is drawn and breaks the line, but not in a grid.
  const shape = s => layout === "grid" && grid() ? s.text.trim() || "␣" : s.text.replaceAll("↵", "↵\n");

  const tokens = () => c.cells.filter(cell => lives(cell, at)).map(cell => latest(cell.changes, at).token);

  return {
    grid,
    open(newRow, step) { build(newRow); this.show(step); },
    show(step) { at = step; c.cells.forEach((cell, i) => paint(spans[i], cell, i)); },
    redraw() { build(row); this.show(at); },
    set layout(l) { layout = l; },
    get layout() { return layout; },
    set by(b) { by = b; },
    get by() { return by; },
    shade,
    pick(i) { picked = i; this.show(at); },
    get picked() { return picked; },
    // near is the next cell of the row as it is, in a direction; from none it is the first.
    near(by) {
      const alive = [...c.cells.keys()].filter(i => lives(c.cells[i], at));
      return alive[Math.min(Math.max(alive.indexOf(picked) + by, 0), alive.length - 1)] ?? -1;
    },
    // place is where a cell stands in the row as it is.
    place: i => c.cells.slice(0, i).filter(cell => lives(cell, at)).length,
    describe() {
      const text = tokens();
      return `After step ${at} of ${c.n}, ${text.filter(t => t < 0).length} of ${text.length} positions masked: ${reading(trace, text)}`;
    },
  };
}
