// The little that the cases share: a runner that prints one line a case, and for the SDK of OpenAI a fetch that
// orders faults and notes what was sent. ../js_test.go reads the lines.

import OpenAI, { AzureOpenAI } from 'openai';

const cases = [];
const sent = []; // {method, path, status}; status 0: no response came

// test adds a case. A case that takes longer than ten seconds has failed.
export function test(name, run) {
  if (cases.some((c) => c.name === name)) {
    throw new Error(`there are two cases named ${name}`);
  }
  cases.push({ name, run });
}

// run runs all cases, one after the other, and prints what became of them and what was sent.
export async function run() {
  for (const { name } of cases) {
    console.log(`plan: ${name}`);
  }
  for (const { name, run } of cases) {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error('still not over after 10 s')), 10_000);
    });
    try {
      await Promise.race([run(), late]);
      console.log(`ok: ${name}`);
    } catch (err) {
      process.exitCode = 1;
      console.log(`not ok: ${name}`);
      console.log(String(err?.stack ?? err).replace(/^/gm, '  '));
    } finally {
      clearTimeout(timer);
    }
  }
  for (const { method, path, status } of sent) {
    console.log(`sent: ${method} ${path} ${status}`);
  }
  process.exit(); // or a request that hangs would keep the process alive
}

// noted notes a request before it is sent. Who sends it sets the status once it is known.
export function noted(method, path) {
  const note = { method, path, status: 0 };
  sent.push(note);
  return note;
}

// wire is a fetch for one client. The n-th request orders the n-th fault; '' and the end of the list order none.
function wire(faults) {
  const requests = [];
  const fetching = async (url, init) => {
    const headers = new Headers(init.headers);
    const fault = faults[requests.length];
    if (fault) {
      headers.set('x-punctual-fault', fault);
    }
    const note = noted(init.method, new URL(url).pathname);
    requests.push({ at: performance.now(), headers, body: JSON.parse(init.body) });
    const response = await fetch(url, { ...init, headers });
    note.status = response.status;
    return response;
  };
  return { fetch: fetching, requests };
}

// The ways to a simulated account that the SDK has. Each makes a client; its requests are in client.requests.
export const ways = {
  'AzureOpenAI with a key': (url, o) => client(AzureOpenAI, { endpoint: url, apiKey: o.key, apiVersion: '2024-10-21' }, o),
  'AzureOpenAI with a token': (url, o) =>
    client(AzureOpenAI, { endpoint: url, azureADTokenProvider: async () => o.token, apiVersion: '2024-10-21' }, o),
  'OpenAI at the v1 path of Azure': (url, o) => client(OpenAI, { baseURL: `${url}/openai/v1`, apiKey: o.key }, o),
  'OpenAI at its own path': (url, o) => client(OpenAI, { baseURL: `${url}/v1`, apiKey: o.key }, o),
};

function client(SDK, place, { faults = [], options = {} }) {
  const { fetch, requests } = wire(faults);
  const made = new SDK({ maxRetries: 0, timeout: 5_000, ...place, ...options, fetch });
  made.requests = requests;
  return made;
}

// collect reads a stream of chunks to its end.
export async function collect(stream) {
  const got = { text: '', deltas: 0, finish: null, usage: null, calls: [] };
  for await (const chunk of stream) {
    got.usage = chunk.usage ?? got.usage;
    for (const choice of chunk.choices) {
      got.finish = choice.finish_reason ?? got.finish;
      if (choice.delta.content) {
        got.text += choice.delta.content;
        got.deltas++;
      }
      for (const piece of choice.delta.tool_calls ?? []) {
        const call = (got.calls[piece.index] ??= { id: '', name: '', arguments: '', pieces: 0 });
        call.id += piece.id ?? '';
        call.name += piece.function?.name ?? '';
        call.arguments += piece.function?.arguments ?? '';
        call.pieces++;
      }
    }
  }
  return got;
}
