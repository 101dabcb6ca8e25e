// The trace in the page: its rows, and what happened to each position of a row. The steps of a row are parsed when the row is
// first looked at, so that a trace of many rows opens at once.

const stepLine = '{"event":"step","row":';

function readTrace(text) {
  const trace = {header: {}, rows: [], pieces: new Map(), special: new Set(), leftOut: 0, torn: 0};
  const byIndex = new Map();
  const lines = text.split("\n");
  const whole = lines.pop() === ""; // the last line ends, too
  if (!whole) trace.torn++;
  for (const line of lines) {
    if (line.startsWith(stepLine)) {
      byIndex.get(parseInt(line.slice(stepLine.length), 10))?.lines.push(line);
      continue;
    }
    let e;
    try { e = JSON.parse(line); } catch { trace.torn += line.trim() ? 1 : 0; continue; }
    if (e.trace) {
      trace.header = e;
    } else if (e.event === "tokens") {
      for (const id in e.pieces) trace.pieces.set(+id, e.pieces[id]);
      for (const id of e.special ?? []) trace.special.add(id);
    } else if (e.event === "row") {
      const row = {index: e.row, start: e.tokens ?? [], free: new Set(e.free), lines: [], end: null};
      byIndex.set(e.row, row);
      trace.rows.push(row);
    } else if (e.event === "end") {
      const row = byIndex.get(e.row);
      if (row) row.end = e;
    } else if (e.event === "left_out") {
      trace.leftOut = e.count;
    }
  }
  trace.rows.sort((a, b) => a.index - b.index);
  trace.mask = trace.header.mask_id ?? -1;
  for (const row of trace.rows) {
    row.blanks = row.start.reduce((n, t) => n + (t === trace.mask), 0);
    row.nfe = row.end?.nfe ?? 0;
  }
  return trace;
}

// course returns what happened to a row. A cell is a position for as long as it lives: it stays itself when others come or leave beside it.
// cells[i].changes are {at, token, ...} in order, at = steps done, token -1 = masked; a cell is in the row from its born on, until its left.
// cells are in the order of the row; a step names them by where they stand before it.
function course(trace, row) {
  if (row.course) return row.course;
  const steps = [];
  for (const line of row.lines) {
    try { steps.push(JSON.parse(line)); } catch { trace.torn++; }
  }
  const cells = row.start.map((token, i) => {
    const masked = token === trace.mask;
    return {given: !masked && !row.free.has(i), born: 0, left: Infinity, changes: [{at: 0, token: masked ? -1 : token, kind: masked ? "blank" : "given"}], guesses: []};
  });
  const c = {steps, cells, n: steps.length, entropy: [], opened: [], overwritten: [], remasked: [], inserted: [], deleted: [], masked: [row.blanks], length: [cells.length]};
  let masked = row.blanks, alive = cells.slice();
  steps.forEach((s, k) => {
    const at = k + 1, known = (list, i) => Array.isArray(list) && typeof list[i] === "number" ? list[i] : null;
    const when = {at, step: s.step, nfe: s.nfe};
    let overwritten = 0;
    (s.opened ?? []).forEach(([p, token], i) => {
      const cell = alive[p];
      if (!cell) return;
      const before = cell.changes.at(-1).token, over = before >= 0 && trace.mask >= 0; // without a mask nobody knows
      if (before < 0) masked--;
      if (over) overwritten++;
      cell.changes.push({...when, token, kind: over ? "rewrite" : "open", before, logp: known(s.logp, i), entropy: known(s.entropies, i)});
    });
    for (const p of s.remasked ?? []) {
      const cell = alive[p];
      if (!cell) continue;
      const before = cell.changes.at(-1).token;
      if (before >= 0) masked++;
      cell.changes.push({...when, token: -1, kind: "remask", before});
    }
    for (const [p, token] of s.guess ?? []) alive[p]?.guesses.push({at, token});
    for (const p of s.deleted ?? []) {
      if (alive[p]?.changes.at(-1).token < 0) masked--;
      if (alive[p]) alive[p].left = at;
    }
    alive = alive.filter(cell => cell.left > at);
    const inserted = insert(cells, alive, s.inserted ?? [], when);
    masked += inserted;
    c.entropy.push(typeof s.entropy === "number" ? s.entropy : null);
    c.opened.push((s.opened ?? []).length - overwritten);
    c.overwritten.push(overwritten);
    c.remasked.push((s.remasked ?? []).length);
    c.inserted.push(inserted);
    c.deleted.push((s.deleted ?? []).length);
    c.masked.push(masked);
    c.length.push(alive.length);
  });
  c.final = alive;
  c.grows = Boolean(trace.header.growth) || c.inserted.some(Boolean);
  c.written = alive.filter(cell => cell.changes[0].token < 0 && cell.changes.at(-1).token >= 0).length;
  row.nfe = row.end?.nfe ?? steps.at(-1)?.nfe ?? 0;
  row.lines = [];
  return row.course = c;
}

// insert puts new masks into the gaps of the row alive, and before the same neighbours into cells, and returns how many.
function insert(cells, alive, gaps, when) {
  let n = 0;
  for (const [gap, count] of [...gaps].sort((a, b) => b[0] - a[0])) { // from the right, so that the gaps to the left keep their places
    const masks = Array.from({length: count}, () => ({given: false, born: when.at, left: Infinity, changes: [{...when, token: -1, kind: "insert"}], guesses: []}));
    cells.splice(gap < alive.length ? cells.indexOf(alive[gap]) : cells.length, 0, ...masks);
    alive.splice(gap, 0, ...masks);
    n += count;
  }
  return n;
}

// lives tells whether a cell is in the row after so many steps.
const lives = (cell, at) => cell.born <= at && at < cell.left;

// latest is the last entry of a list that had happened after so many steps, or undefined.
function latest(list, at) {
  let found;
  for (const x of list) {
    if (x.at > at) break;
    found = x;
  }
  return found;
}
