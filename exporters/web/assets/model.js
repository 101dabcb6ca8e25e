// The denoiser: the ONNX graph with its statistics head, in ONNX Runtime's WebAssembly build on one thread, as more need headers that plain file
// servers do not send.
import * as ort from "./vendor/onnxruntime-web/ort.wasm.min.js";

const beside = path => new URL(path, import.meta.url).href;
ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmPaths = {mjs: beside("./vendor/onnxruntime-web/ort-wasm-simd-threaded.js"), wasm: beside("./vendor/onnxruntime-web/ort-wasm-simd-threaded.wasm")};
ort.env.logLevel = "error";

// get reads a file of this folder, and tells progress as it comes.
export async function get(path, progress = () => {}) {
  const answer = await fetch(beside(path));
  if (!answer.ok) throw new Error(`${path}: the server answers ${answer.status} ${answer.statusText}, expected the file; copy the whole folder to the server`);
  const chunks = [];
  let size = 0;
  for (const reader = answer.body.getReader(); ;) {
    const {done, value} = await reader.read();
    if (done) break;
    chunks.push(value);
    progress(size += value.length);
  }
  const all = new Uint8Array(size);
  chunks.reduce((at, chunk) => (all.set(chunk, at), at + chunk.length), 0);
  return all;
}

export const json = async path => JSON.parse(new TextDecoder().decode(await get(path)));

export class Model {
  // facts is page.json; progress is called with the share of the graph that has come.
  static async load(facts, progress) {
    const graph = await get(facts.graph.file, size => progress(size / facts.graph.bytes));
    const model = new Model();
    model.facts = facts;
    model.suppressed = new Set(facts.suppressed);
    model.session = await ort.InferenceSession.create(graph, {executionProviders: ["wasm"]});
    return model;
  }

  // feeds are the graph's inputs for one row, padded where its length is fixed. Rows that grow are as long as a multiple of 4, so that few lengths occur.
  feeds(tokens, time, temperature, uniform) {
    const f = this.facts, n = tokens.length, wide = f.growth && f.attention_mask ? Math.min(Math.ceil(n / 4) * 4, f.max_length || Infinity) : n;
    const l = f.fixed_length || Math.max(wide, 1);
    const ints = at => new ort.Tensor("int64", BigInt64Array.from({length: l}, (_, i) => BigInt(at(i))), [1, l]);
    const all = {
      input_ids: () => ints(i => i < n ? tokens[i] : f.pad),
      attention_mask: () => ints(i => i < n ? 1 : 0),
      position_ids: () => ints(i => i),
      token_type_ids: () => ints(() => 0),
      timesteps: () => new ort.Tensor("float32", [f.from_zero ? 1 - time : time], [1]),
      temperature: () => new ort.Tensor("float32", [temperature], [1]),
      uniform: () => new ort.Tensor("float32", Float32Array.from({length: l}, (_, i) => uniform?.[i] ?? 0.5), [1, l]),
    };
    return Object.fromEntries(this.session.inputNames.map(name => [name, all[name]()]));
  }

  // run gives the statistics of a row by position. masks are where proposals are wanted. Where top_k, top_p or min_p leave out tokens the draw is made
  // here, from the logits.
  async run(tokens, masks, time, o, uniform) {
    const n = tokens.length, filtered = o.temperature > 0 && (o.top_k > 0 || o.top_p < 1 || o.min_p > 0);
    const names = this.session.outputNames.filter(name => name !== "logits" || filtered);
    const out = await this.session.run(this.feeds(tokens, time, o.temperature, uniform), names);
    const row = (name, more = 0) => out[name]?.data.subarray(0, n + more);
    const stats = {proposal: Array.from(row("proposal"), Number), logpProposal: row("logp_proposal"), p1: row("p1"), p2: row("p2"), entropy: row("entropy"),
      logpCurrent: row("logp_current"), insertion: row("insertion_rate", 1), unmask: row("unmask_rate")};
    const v = filtered ? out.logits.dims[2] : 0;
    if (filtered) for (const i of masks) [stats.proposal[i], stats.logpProposal[i]] = this.draw(out.logits.data.subarray(i * v, (i + 1) * v), o, uniform[i]);
    const fault = masks.find(i => stats.proposal[i] < 0 || !(stats.p1[i] >= 0));
    if (fault !== undefined) throw new Error(`position ${fault}: the logits are NaN or infinite, or leave no token that may be written; check the model with mdmhost sample`);
    const wrong = stats.insertion?.findIndex(x => !(x >= 0 && x < Infinity)) ?? -1;
    if (wrong >= 0) throw new Error(`gap ${wrong}: the insertion rate is ${stats.insertion[wrong]}, expected a finite number from 0; check the model`);
    return stats;
  }

  // draw takes a token from softmax(z/T) after top_k, top_p and min_p, by one uniform, and its log-probability before all that.
  draw(z, {temperature, top_k: k, top_p: p, top_p_rule: rule, min_p: least}, u) {
    let ids = [...z.keys()].filter(id => !this.suppressed.has(id));
    const by = (a, b) => z[b] - z[a] || a - b, m = ids.reduce((a, id) => Math.max(a, z[id]), -Infinity);
    const lnZ = Math.log(ids.reduce((sum, id) => sum + Math.exp(z[id] - m), 0)), e = id => Math.exp((z[id] - m) / temperature);
    const sum = list => list.reduce((a, id) => a + e(id), 0);
    if (k > 0 && k < z.length || p < 1) {
      let order = [...ids].sort(by);
      if (k > 0 && k < order.length) order = order.filter(id => z[id] >= z[order[k - 1]]);
      if (p < 1) {
        const limit = p * sum(order);
        let before = 0, kept = 0;
        for (const id of order) {
          if (kept > 0 && (before > limit || rule === "below" && before + e(id) > limit)) break;
          before += e(id);
          kept++;
        }
        order = order.slice(0, kept);
      }
      ids = order.sort((a, b) => a - b);
    }
    if (least > 0) ids = ids.filter(id => (z[id] - m) / temperature >= Math.log(Math.min(least, 1)));
    const target = u * sum(ids);
    let mass = 0, token = -1;
    for (const id of ids) {
      if (e(id) === 0) continue;
      token = id;
      if ((mass += e(id)) > target) break;
    }
    return [token, Math.fround(z[token] - m - lnZ)];
  }
}
