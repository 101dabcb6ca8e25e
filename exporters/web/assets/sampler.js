// Samplers, as `mdmhost sample` has them. Each is a generator that changes a row step by step: {tokens, state, guess, probability} by position, guess being
// what the model would write at a mask, and of insertion models {frozen, cap}.
import * as random from "./random.js";
import {planners} from "./planners.js";

export const given = 0, blank = 1, written = 2; // states of a position

const positions = (row, state) => [...row.state.keys()].filter(i => row.state[i] === state);

// pass runs the network on a row and draws a proposal at every position.
async function pass(model, row, o, stream, step, time) {
  const masks = positions(row, blank), stats = await model.run(row.tokens, masks, time, o, stream.uniforms(random.draw, step, row.tokens.length));
  for (const i of masks) [row.guess[i], row.probability[i]] = [stats.proposal[i], stats.p1[i]];
  return stats;
}

function write(row, stats, i) {
  row.tokens[i] = stats.proposal[i];
  row.state[i] = written;
  row.probability[i] = Math.exp(stats.logpProposal[i]);
}

// masked opens the blanks of a row by a planner; the time of step i of n is 1 - i/n.
export async function* masked(model, row, o, stream) {
  const {plan, remasks} = planners[o.planner], blanks = positions(row, blank).length, steps = o.steps || blanks;
  let stats = null, nfe = 0;
  for (let step = 0; row.state.includes(blank);) {
    if (!stats) {
      stats = await pass(model, row, o, stream, step, 1 - step / steps);
      nfe++;
    }
    const view = {masked: positions(row, blank), written: remasks ? positions(row, written) : [], step, steps, blanks, stats, noise: () => stream.gumbels(step, row.tokens.length)};
    const {open, remask, step: as} = plan(view, o);
    step = as + 1;
    for (const i of open) write(row, stats, i);
    for (const i of remask) [row.tokens[i], row.state[i], row.guess[i], row.probability[i]] = [model.facts.mask, blank, stats.proposal[i], stats.p1[i]];
    if (step >= steps) for (const i of positions(row, blank)) write(row, stats, i);
    yield {step, steps, nfe, changed: [...open, ...remask]};
    // Where nothing changed a model without times says the same again, and at temperature 0 so does the draw.
    if (open.length + remask.length > 0 || model.facts.timed || o.temperature > 0) stats = null;
  }
}

// The clock of insertion models is U(t) = -log(1 - t^a), t from 0 to 1; left is 1 - t.
const atClock = (u, a) => ({u, left: a === 1 ? Math.exp(-u) : -Math.expm1(Math.log(-Math.expm1(-u)) / a)});
const atTime = (t, a) => ({u: -Math.log1p(-(t ** a)), left: 1 - t});
const hazard = (t, a) => a === 1 ? 1 / (1 - t) : a * t ** (a - 1) / -Math.expm1(a * Math.log1p(t - 1));

// poisson is the smaller of limit and the smallest k with P(N <= k) > q, N Poisson with the mean lambda.
export function poisson(q, lambda, limit) {
  if (!(lambda > 0)) return 0;
  if (limit < lambda && (limit <= 0 ? lambda : lambda - limit + limit * Math.log(limit / lambda)) > 45) return limit;
  let k = lambda > 500 ? Math.trunc(Math.max(lambda - Math.sqrt(90 * lambda), 0)) : 0, factorial = 0;
  for (let i = 2; i <= k; i++) factorial += Math.log(i);
  let term = Math.exp(k * Math.log(lambda) - lambda - factorial);
  for (let cdf = term; q >= cdf && k < limit; cdf += term) {
    term *= lambda / ++k;
    if (k > lambda && cdf + term === cdf) break; // rounding ate the gap below 1
  }
  return k;
}

// leap is the length of a step in the clock that no rate times it exceeds most, where moves steps are left for the rest of the clock.
function leap(rate, left, most, moves) {
  const du = rate * left > most ? most / rate : left, rest = (moves - 1) * most;
  return Math.min(Math.max(du, rest + most < left ? left / moves : left - rest), left);
}

// insertion is tau-leaping: in a step every mask opens and every free gap receives masks, by the rates of the row before it.
export async function* insertion(model, row, o, stream) {
  const {gap, a} = model.facts.growth, steps = o.steps || 128, end = o.u_max || Math.log(steps) + 4, most = o.max_rate_step;
  const at = k => o.grid === "code" ? atTime(k * (1 - 1e-5) / (steps + 1), a) : o.grid === "uniform" ? atTime(k / steps, a) : atClock(k / steps * end, a);
  let stats = null, nfe = 0, clock = 0;
  if (!row.state.includes(blank) && row.frozen.every(Boolean)) return;
  for (let step = 0; step < steps; step++) {
    const from = most > 0 ? atClock(clock, a) : at(step);
    if (!stats) {
      stats = await pass(model, row, o, stream, step, from.left);
      nfe++;
    }
    const blanks = positions(row, blank), n = row.tokens.length;
    if (step === steps - 1 || most > 0 && clock >= end) { // the last step opens all and inserts nothing
      for (const i of blanks) write(row, stats, i);
      yield {step: step + 1, steps, nfe, changed: blanks};
      return;
    }
    const free = g => !row.frozen[g] && (g < n || gap !== "eos"), gaps = Array.from({length: n + 1}, (_, g) => free(g) ? stats.insertion[g] : 0);
    const rate = i => stats.unmask ? stats.unmask[i] : 1, times = (r, length) => r === 0 ? 0 : r * length;
    let to = at(step + 1);
    if (most > 0) {
      to = atClock(Math.min(end, clock + leap(Math.max(0, ...gaps, ...blanks.map(rate)), end - clock, most, steps - 1 - step)), a);
      clock = to.u;
    }
    const integrated = o.events === "integrated", opening = integrated ? to.u - from.u : hazard(1 - from.left, a) * (from.left - to.left);
    const receiving = integrated ? -Math.expm1(-opening) : opening, luck = stream.uniforms(random.uniform, step, n);
    const open = blanks.filter(i => luck[i] < (o.events === "euler" ? times(rate(i), opening) : -Math.expm1(-times(rate(i), opening))));
    let room = row.cap - n;
    const full = room, drawn = gaps.map((r, g) => {
      const lambda = times(r, receiving), q = stream.at(random.gap, step, g);
      return o.events === "euler" ? Number(q < lambda) : poisson(q, lambda, full + 1);
    });
    const over = drawn.reduce((sum, k) => sum + k, 0) > room && o.overflow === "reject";
    const counts = drawn.map(k => { k = over ? 0 : Math.min(k, room); room -= k; return k; });
    for (const i of open) write(row, stats, i);
    const changed = grow(row, counts, open, model.facts.mask);
    yield {step: step + 1, steps, nfe, changed};
    const masked = blanks.length - open.length;
    if (masked === 0 && room === full && (most > 0 && clock >= end || !gaps.some((_, g) => free(g)) || full === 0)) return;
    if (open.length > 0 || room < full || model.facts.timed) stats = null;
  }
}

// grow puts masks into the gaps of a row, and returns where the new ones and the ones that changed before stand then. That a gap is frozen goes with
// the token on its right.
function grow(row, counts, changed, mask) {
  const was = {...row}, n = was.tokens.length, seen = new Set(changed), now = [];
  const put = values => ["tokens", "state", "guess", "probability", "frozen"].forEach((name, k) => row[name].push(values[k]));
  [row.tokens, row.state, row.guess, row.probability, row.frozen] = [[], [], [], [], []];
  for (let g = 0; g <= n; g++) {
    for (let k = 0; k < counts[g]; k++) {
      now.push(row.tokens.length);
      put([mask, blank, mask, 0, false]);
    }
    if (seen.has(g)) now.push(row.tokens.length);
    if (g < n) put([was.tokens[g], was.state[g], was.guess[g], was.probability[g], was.frozen[g]]);
  }
  row.frozen.push(was.frozen[n]);
  return now;
}
