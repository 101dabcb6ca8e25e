// Answers for the export beside it, with its own modules: what the network gives for the rows of the reference, one by one, which mask it would open at
// each pass of the reference's, and which rows it makes of texts. Go compares.
import {Model, json} from "../export/model.js";
import {Text} from "../export/text.js";

const post = (name, body) => fetch(`answer/${name}`, {method: "POST", body});

async function main() {
  const facts = await json("page.json"), reference = await (await fetch("reference.json")).json();
  const text = new Text(await json("tokenizer.json"), facts), model = await Model.load(facts, () => {});
  const time = i => reference.timesteps ? facts.from_zero ? 1 - reference.timesteps[i] : reference.timesteps[i] : 0;
  const passes = Math.max(...reference.order.flat(), -1) + 1;
  const logits = [], insertion = [], unmask = [], choices = [];
  for (const [i, row] of reference.rows.entries()) {
    const out = await model.session.run(model.feeds(row, time(i), 0, null)), n = row.length;
    logits.push(out.logits.data.slice(0, n * out.logits.dims[2]));
    if (out.insertion_rate) insertion.push(out.insertion_rate.data.slice(0, n + 1));
    if (out.unmask_rate) unmask.push(out.unmask_rate.data.slice(0, n));
    const tokens = [...reference.begin[i]];
    for (let pass = 0; pass < passes; pass++) {
      const at = reference.order[i].indexOf(pass);
      if (at < 0) break;
      const masks = [...tokens.keys()].filter(j => tokens[j] === facts.mask);
      const stats = await model.run(tokens, masks, time(i), {temperature: 0, top_k: 0, top_p: 1, min_p: 0}, null);
      const own = masks.reduce((best, j) => stats.p1[j] > stats.p1[best] ? j : best, masks[0]);
      choices.push([i, at, own, stats.proposal[own]]);
      tokens[at] = reference.written[i][at];
    }
  }
  const rows = reference.questions.map(q => {
    try {
      const row = q.infill !== undefined ? text.infill(q.infill, 0) : text.prompt(q.prompt, 0);
      return {tokens: row.tokens, frozen: row.frozen ?? null};
    } catch (error) {
      return {error: error.message};
    }
  });
  await post("logits", new Blob(logits));
  await post("insertion_rate", new Blob(insertion));
  await post("unmask_rate", new Blob(unmask));
  await post("end", JSON.stringify({choices, rows, agent: navigator.userAgent}));
}

main().catch(error => post("end", JSON.stringify({error: String(error?.message ?? error), agent: navigator.userAgent})));
