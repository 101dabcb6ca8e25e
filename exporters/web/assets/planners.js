// Planners: which positions a step opens, and which it masks again. A planner gets the row as the sampler shows it,
//
//   masked, written  positions that hold the mask, and free ones that hold a token, ascending
//   step, steps, blanks, noise()  the step from 0, all steps, masks at the row's start, Gumbel noise by position
//   stats  by position: p1, p2, entropy (of the model's distribution), logpProposal, logpCurrent
//
// and returns {open, remask, step}; step is larger than the row's where empty steps are left out.

// best are the k positions with the largest score; of equal scores the lower positions.
function best(positions, score, k) {
  return [...positions].sort((i, j) => score(j) - score(i) || i - j).slice(0, Math.max(k, 0));
}

// Masks that stay after a step, as functions of the row's blanks, its masks, the step and all steps.
const within = (stay, masked) => Math.min(Math.max(stay, 0), masked);
const fixed = k => (_, masked, step, steps) => step >= steps - 1 ? 0 : Math.max(masked - k, 0);
const uniform = (blanks, masked, step, steps) =>
  within(blanks - (step + 1) * Math.floor(blanks / steps) - Math.min(step + 1, blanks % steps), masked);
const schedules = {
  auto: k => (...a) => (a[3] * k >= a[0] ? fixed(k) : uniform)(...a),
  k: fixed,
  uniform: () => uniform,
  linear: () => (blanks, masked, step, steps) => within(Math.floor(blanks * (steps - 1 - step) / steps), masked),
  cosine: () => (blanks, masked, step, steps) => {
    if (step >= steps - 1) return 0;
    const share = Math.min(Math.max(Math.cos(Math.PI / 2 * ((step + 1) / steps)), 1e-6), 1);
    return Math.min(Math.max(1, Math.min(masked - 1, Math.floor(blanks * share))), masked);
  },
};

function confidence(r, o) {
  const stay = schedules[o.schedule](o.k), masked = r.masked.length;
  let step = r.step, count = masked - stay(r.blanks, masked, step, r.steps);
  while (count <= 0 && step + 1 < r.steps) count = masked - stay(r.blanks, masked, ++step, r.steps);
  return {open: best(r.masked, i => r.stats.p1[i], count > 0 ? count : masked), remask: [], step: count > 0 ? step : r.step};
}

// eb opens the longest prefix of an order whose summed entropy less its largest is at most gamma nats (Ben-Hamu et al. 2025).
function eb(r, o) {
  const {p1, p2, entropy} = r.stats;
  const proxy = {entropy: i => -entropy[i], confidence: i => p1[i], margin: i => Math.fround(p1[i] - p2[i])}[o.proxy];
  let {gamma, min_per_step: least} = o, most = o.max_per_step || Infinity, from = r.masked.filter(i => entropy[i] <= o.max_entropy);
  if (from.length === 0) [from, gamma, least, most] = [r.masked, 0, 1, 1];
  if (most < least) throw new Error(`max_per_step ${most}: expected at least min_per_step ${least}; raise it, or set 0 for no limit`);
  const open = [];
  let sum = 0, largest = 0;
  for (const i of best(from, proxy, from.length)) {
    const h = Math.max(entropy[i], 0);
    sum += Math.min(h, largest);
    if (open.length >= most || open.length >= least && sum > gamma) break;
    largest = Math.max(largest, h);
    open.push(i);
  }
  return {open, remask: [], step: r.step};
}

// kappas are fractions unmasked at progress t.
const kappas = {
  linear: t => t, cosine: t => 1 - Math.cos(Math.PI / 2 * t), sine: t => Math.sin(Math.PI / 2 * t), half_cosine: t => (1 - Math.cos(Math.PI * t)) / 2,
  quad: t => t * t, sqrt: Math.sqrt, geometric: t => 1 - (1 - t) * (1 - t), log: t => Math.log1p(t) / Math.LN2,
};

// p2 ranks masked and written positions together and masks the worst (Peng et al. 2025).
function p2(r, o) {
  const {logpProposal, logpCurrent} = r.stats, keeps = o.eta === 0;
  const left = i => {
    if (i >= r.steps) return 0;
    if (o.kappa === "linear") return Math.floor(r.blanks * (r.steps - i) / r.steps);
    const k = Math.floor(r.blanks * (1 - kappas[o.kappa](i / r.steps)) + 1e-6);
    return Math.min(Math.max(k, o.kappa === "cosine" ? 1 : 0), r.blanks);
  };
  let step = r.step, k = left(step + 1);
  while ((keeps || r.written.length === 0) && k >= r.masked.length && step < r.steps - 1) k = left(++step + 1);
  const luck = o.planner_temperature > 0 ? r.noise() : null;
  const noisy = (i, score) => luck ? score + luck[i] * o.planner_temperature : score;
  const ranked = r.masked.map(i => [noisy(i, logpProposal[i]), i]);
  if (!keeps) ranked.push(...r.written.map(i => [noisy(i, logpCurrent[i] * o.eta), i]));
  ranked.sort(([a, i], [b, j]) => a - b || j - i); // of equal scores the higher positions are masked first
  const falls = new Set(ranked.slice(0, Math.max(k, 0)).map(([, i]) => i));
  return {open: r.masked.filter(i => !falls.has(i)), remask: keeps ? [] : r.written.filter(i => falls.has(i)), step};
}

const number = (value, min, help) => ({value, min, help}), choice = (names, help) => ({value: names[0], names, help});

// planners with their options: the default, the least value or the names, and what they are.
export const planners = {
  confidence: {plan: confidence, options: {
    schedule: choice(Object.keys(schedules), "positions opened a step; auto: k where that suffices, else even shares"), k: number(1, 1, "positions opened a step, with auto and k")}},
  eb: {plan: eb, options: {
    gamma: number(0.1, 0, "entropy bound in nats"), proxy: choice(["entropy", "confidence", "margin"], "order of opening"),
    max_entropy: number(Infinity, 0, "positions of larger entropy wait"), min_per_step: number(1, 1, "positions opened a step at least"), max_per_step: number(0, 0, "at most; 0: no limit")}},
  p2: {plan: p2, remasks: true, options: {
    eta: number(1, 0, "larger masks more written tokens again; 0 none"), kappa: choice(Object.keys(kappas), "fraction unmasked by progress"),
    planner_temperature: number(0, 0, "Gumbel noise on the scores")}},
};
