// The server's API. Errors are shown as the server words them.

let token = ""; // for servers with serve.tokens; it is kept nowhere

const headers = more => token ? {...more, Authorization: "Bearer " + token} : more;

class Refusal extends Error {
  constructor(status, error) {
    super(error?.message ?? "the server answers " + status);
    this.status = status;
    this.param = error?.param ?? null;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (e) {
    if (e.name === "AbortError") throw e;
    throw new Refusal(0, {message: "the server does not answer; is it still running?"});
  }
  if (response.ok) return response;
  const body = await response.json().catch(() => null);
  throw new Refusal(response.status, body?.error);
}

const list = async path => (await (await ask(path, {headers: headers({})})).json()).data;

// stream sends a question and hands each event to take, with the text that it came as, until the server says that it is done.
async function stream(path, body, signal, take) {
  const response = await ask(path, {method: "POST", signal, headers: headers({"Content-Type": "application/json"}), body});
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ""; ;) {
    const {value, done} = await reader.read().catch(e => {
      if (e.name === "AbortError") throw e;
      throw new Refusal(0, {message: "the connection broke off before the end"});
    });
    const parts = (rest + (value ?? "")).split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      if (!part.startsWith("data: ")) continue; // a sign of life
      if (part === "data: [DONE]") return;
      const event = JSON.parse(part.slice(6));
      if (event.error) throw new Refusal(200, event.error);
      take(event, part);
    }
    if (done) throw new Refusal(0, {message: "the connection broke off before the end"});
  }
}
