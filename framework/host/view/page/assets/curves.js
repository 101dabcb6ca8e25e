// Curves over the steps of a row: the mean entropy of masked positions, the tokens opened (up), masked again and overwritten (down), and the
// length of rows that grow.

function makeCurves(root, seek) {
  const ns = "http://www.w3.org/2000/svg";
  let c, at = 0, cursors = [], readings = [];

  const node = (tag, attributes, ...children) => {
    const e = document.createElementNS(ns, tag);
    for (const [name, value] of Object.entries(attributes)) e.setAttribute(name, value);
    e.append(...children);
    return e;
  };

  const left = 34, right = 8, top = 8, bottom = 18, height = 104;
  let width = 300;
  const x = k => left + (width - left - right) * (k - 0.5) / c.n; // the middle of a step

  function panel(title, values, low, high, marks) {
    const y = v => top + (height - top - bottom) * (1 - (v - low) / (high - low || 1));
    const svg = node("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": title});
    for (const tick of new Set([low, 0, high].filter(v => v >= low && v <= high)))
      svg.append(node("line", {class: "rule", x1: left, x2: width - right, y1: y(tick), y2: y(tick)}),
        node("text", {class: "tick", x: left - 6, y: y(tick) + 3.5, "text-anchor": "end"}, number(Math.abs(tick))));
    for (const k of new Set([1, Math.ceil(c.n / 2), c.n]))
      svg.append(node("text", {class: "tick", x: x(k), y: height - 4, "text-anchor": "middle"}, String(k)));
    marks(svg, y);
    const cursor = node("line", {class: "cursor", y1: top - 4, y2: height - bottom + 2});
    svg.append(cursor);
    const now = element("output", {class: "reading"});
    cursors.push(cursor);
    readings.push([now, values]);
    const figure = element("figure", {}, element("figcaption", {}, title, now), svg);
    const pull = event => {
      const box = svg.getBoundingClientRect();
      const share = ((event.clientX - box.left) * (width / box.width) - left) / (width - left - right);
      seek(Math.min(Math.max(Math.ceil(share * c.n), 1), c.n));
    };
    svg.addEventListener("pointerdown", event => { svg.setPointerCapture(event.pointerId); pull(event); });
    svg.addEventListener("pointermove", event => { if (event.buttons) pull(event); });
    return figure;
  }

  function draw() {
    cursors = [], readings = [];
    if (!c || c.n === 0) {
      root.replaceChildren(element("p", {class: "quiet"}, "No step was recorded for this row."));
      return;
    }
    width = Math.max(Math.round(root.clientWidth - 32), 160);
    const entropies = c.entropy.filter(h => h !== null);
    const revised = c.remasked.map((n, k) => n + c.overwritten[k]);
    const most = c.opened.reduce((a, b) => Math.max(a, b), 1), down = revised.reduce((a, b) => Math.max(a, b), 0);
    const below = [["masked again", c.remasked], ["overwritten", c.overwritten]].filter(([, counts]) => counts.some(Boolean)).map(([name]) => name);
    const figures = [];
    if (entropies.length) {
      const high = entropies.reduce((a, b) => Math.max(a, b), 0) || 1;
      figures.push(panel("Mean entropy of masked positions, nats", k => c.entropy[k - 1] === null ? "–" : number(c.entropy[k - 1]), 0, high, (svg, y) => {
        let path = "", pen = "M";
        c.entropy.forEach((h, k) => { if (h === null) { pen = "M"; return; } path += `${pen}${x(k + 1).toFixed(1)} ${y(h).toFixed(1)}`; pen = "L"; });
        svg.append(node("path", {class: "line", d: path}));
        if (c.n === 1) svg.append(node("circle", {class: "dot", cx: x(1), cy: y(c.entropy[0]), r: 3}));
      }));
    } else figures.push(element("p", {class: "quiet"}, "Entropies were not recorded in this trace."));
    figures.push(panel(down ? `Tokens opened, and ${below.join(" or ")} below, per step` : "Tokens opened per step",
      k => c.opened[k - 1] + (c.remasked[k - 1] ? ` − ${c.remasked[k - 1]}` : "") + (c.overwritten[k - 1] ? ` ~ ${c.overwritten[k - 1]}` : ""), -down, most, (svg, y) => {
        const slot = (width - left - right) / c.n, w = Math.min(Math.max(slot - 2, slot * 0.7), 16);
        const bars = (values, name, to) => {
          const d = values.map((v, k) => v ? `M${(x(k + 1) - w / 2).toFixed(1)} ${y(0).toFixed(1)}h${w.toFixed(1)}V${y(to * v).toFixed(1)}h${(-w).toFixed(1)}z` : "").join("");
          if (d) svg.append(node("path", {class: name, d}));
        };
        bars(c.opened, "bars", 1);
        bars(revised, "bars-down", -1);
      }));
    if (c.grows) {
      const trail = (values, y) => values.map((v, k) => `${k ? "L" : "M"}${x(k + 1).toFixed(1)} ${y(v).toFixed(1)}`).join("");
      const lengths = c.length.slice(1), written = lengths.map((l, k) => l - c.masked[k + 1]);
      figures.push(panel("Length of the row, and written positions (dashed)", k => [`${lengths[k - 1]}`, ...(c.inserted[k - 1] ? [`${c.inserted[k - 1]} new`] : []), ...(c.deleted[k - 1] ? [`${c.deleted[k - 1]} dropped`] : [])].join(", "), 0, Math.max(...lengths, 1), (svg, y) => {
        svg.append(node("path", {class: "line", d: trail(lengths, y)}), node("path", {class: "line under", d: trail(written, y)}));
        if (c.n === 1) svg.append(node("circle", {class: "dot", cx: x(1), cy: y(lengths[0]), r: 3}));
      }));
    }
    root.replaceChildren(...figures);
    show(at);
  }

  function show(step) {
    at = step;
    for (const cursor of cursors) {
      cursor.setAttribute("x1", x(Math.max(step, 1)));
      cursor.setAttribute("x2", x(Math.max(step, 1)));
      cursor.style.opacity = step === 0 ? 0.25 : 1;
    }
    for (const [output, value] of readings) output.textContent = step === 0 ? "" : value(step);
  }

  new ResizeObserver(() => { if (c && Math.abs(root.clientWidth - 32 - width) > 1) draw(); }).observe(root);
  return {open(newCourse, step) { c = newCourse; at = step; draw(); }, show};
}
