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

// course returns what happened to a row: cells[i].changes are {at, token, ...} in order, at = steps done, token -1 = masked.
function course(trace, row) {
  if (row.course) return row.course;
  const steps = [];
  for (const line of row.lines) {
    try { steps.push(JSON.parse(line)); } catch { trace.torn++; }
  }
  const cells = row.start.map((token, i) => {
    const masked = token === trace.mask;
    return {given: !masked && !row.free.has(i), changes: [{at: 0, token: masked ? -1 : token, kind: masked ? "blank" : "given"}], guesses: []};
  });
  const c = {steps, cells, n: steps.length, entropy: [], opened: [], overwritten: [], remasked: [], masked: [row.blanks]};
  let masked = row.blanks;
  steps.forEach((s, k) => {
    const at = k + 1, known = (list, i) => Array.isArray(list) && typeof list[i] === "number" ? list[i] : null;
    let overwritten = 0;
    (s.opened ?? []).forEach(([p, token], i) => {
      const cell = cells[p];
      if (!cell) return;
      const before = cell.changes.at(-1).token, over = before >= 0 && trace.mask >= 0; // without a mask nobody knows
      if (before < 0) masked--;
      if (over) overwritten++;
      cell.changes.push({at, token, kind: over ? "rewrite" : "open", before, step: s.step, nfe: s.nfe, logp: known(s.logp, i), entropy: known(s.entropies, i)});
    });
    for (const p of s.remasked ?? []) {
      const cell = cells[p];
      if (!cell) continue;
      const before = cell.changes.at(-1).token;
      if (before >= 0) masked++;
      cell.changes.push({at, token: -1, kind: "remask", before, step: s.step, nfe: s.nfe});
    }
    for (const [p, token] of s.guess ?? []) cells[p]?.guesses.push({at, token});
    c.entropy.push(typeof s.entropy === "number" ? s.entropy : null);
    c.opened.push((s.opened ?? []).length - overwritten);
    c.overwritten.push(overwritten);
    c.remasked.push((s.remasked ?? []).length);
    c.masked.push(masked);
  });
  row.nfe = row.end?.nfe ?? steps.at(-1)?.nfe ?? 0;
  row.lines = [];
  return row.course = c;
}

// latest is the last entry of a list that had happened after so many steps, or undefined.
function latest(list, at) {
  let found;
  for (const x of list) {
    if (x.at > at) break;
    found = x;
  }
  return found;
}
