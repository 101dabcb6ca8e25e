// The worker: it holds the network and runs the sampler, so that the page stays live. Messages in: {run: settings}, {stop}. Out: {progress}, {ready}, {frame},
// {done}, {failed}.
import {Model, json} from "./model.js";
import {Text} from "./text.js";
import {Stream} from "./random.js";
import {masked, insertion, blank} from "./sampler.js";

let model, text, stopped = false, running = false;

const failed = (during, error) => postMessage({failed: String(error?.message ?? error), during});

async function load() {
  const facts = await json("page.json");
  text = new Text(await json("tokenizer.json"), facts);
  model = await Model.load(facts, share => postMessage({progress: share}));
  postMessage({ready: facts});
}

// breath lets messages in; timers would wait longer.
const breath = () => new Promise(resolve => {
  const {port1, port2} = new MessageChannel();
  port1.onmessage = () => { port1.close(); resolve(); };
  port2.postMessage(null);
});

const shown = new Map();

// frame is what the page draws. Texts of tokens go once.
function frame(row, more) {
  const names = {};
  for (const id of new Set([...row.tokens, ...row.guess])) {
    if (!shown.has(id)) shown.set(id, names[id] = text.show(id));
  }
  postMessage({frame: {...more, tokens: [...row.tokens], state: [...row.state], guess: [...row.guess], probability: [...row.probability], names}});
}

async function run(o) {
  const row = o.infill !== undefined ? text.infill(o.infill, o.length) : text.prompt(o.prompt ?? "", o.length);
  const sampler = model.facts.growth ? insertion : masked, stream = new Stream(BigInt(o.seed), o.row);
  let last = {step: 0, steps: 0, nfe: 0}, spent = 0;
  frame(row, {...last, changed: []});
  for (const steps = sampler(model, row, o, stream); !stopped;) {
    const began = performance.now(), {done, value} = await steps.next();
    if (done) break;
    spent += performance.now() - began;
    last = value;
    frame(row, {...value, spent});
    if (o.pause > 0) await new Promise(resolve => setTimeout(resolve, o.pause));
    await breath();
  }
  const blanks = row.state.filter(s => s === blank).length;
  postMessage({done: {...last, spent, stopped, blanks, tokens: [...row.tokens], text: text.decode(row.tokens.filter((_, i) => row.state[i] !== blank))}});
}

onmessage = async ({data}) => {
  if (data.stop) stopped = true;
  if (!data.run || running) return;
  [running, stopped] = [true, false];
  try {
    await run(data.run);
  } catch (error) {
    failed("run", error);
  }
  running = false;
};

load().catch(error => failed("load", error));
