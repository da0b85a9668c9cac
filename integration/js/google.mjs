// The official SDK of Google against the simulated Vertex AI and Gemini API of `punctual sim`. It finds them by the
// variables that sim prints; PUNCTUAL_SIM is their URL, for the notes of what was sent.

import assert from 'node:assert/strict';
import { ApiError, FunctionCallingConfigMode, GoogleGenAI, Type } from '@google/genai';
import { z } from 'zod';

import { noted, run, test } from './harness.mjs';

const model = process.env.LLM_VERTEX_MODEL;
const greeting = 'Hello from a simulated Vertex AI account.';
const hello = { model, contents: 'Hello' };

// The ways to the service that the SDK has, by the options of a client.
const ways = {
  'Vertex AI by a project': { vertexai: true },
  'Vertex AI by a key': { vertexai: true, apiKey: 'any' },
  'the Gemini API': { apiKey: 'any' },
};

// The SDK takes no fetch of its own, so the only one there is notes what is sent, and orders the n-th fault for the
// n-th request of a client, which says by a header who it is. Tokens come from sim, too, and are no matter of a cloud.
const clients = [];
const real = globalThis.fetch;
globalThis.fetch = async (url, init) => {
  const headers = new Headers(init?.headers);
  const client = clients[headers.get('x-client')];
  if (!client || !String(url).startsWith(process.env.PUNCTUAL_SIM)) {
    return real(url, init);
  }
  headers.delete('x-client');
  const fault = client.faults[client.requests.length];
  if (fault) {
    headers.set('x-punctual-fault', fault);
  }
  const note = noted(init.method, new URL(url).pathname);
  client.requests.push({ headers, body: JSON.parse(init.body) });
  const response = await real(url, { ...init, headers });
  note.status = response.status;
  return response;
};

// make makes the models of a client, with its requests.
function make(way, faults = [], httpOptions = {}) {
  const client = { faults, requests: [] };
  clients.push(client);
  const headers = { 'x-client': String(clients.length - 1) };
  client.ai = new GoogleGenAI({ ...ways[way], httpOptions: { ...httpOptions, headers } });
  client.ask = (request) => client.ai.models.generateContent(request);
  client.stream = (request) => client.ai.models.generateContentStream(request);
  return client;
}

// collect reads a stream to its end.
async function collect(chunks, got = { text: '', deltas: 0, calls: [], finish: null, usage: null }) {
  for await (const chunk of chunks) {
    for (const part of chunk.candidates?.[0]?.content?.parts ?? []) {
      if (part.text) {
        got.text += part.text;
        got.deltas++;
      }
      if (part.functionCall) {
        got.calls.push(part.functionCall);
      }
    }
    got.finish = chunk.candidates?.[0]?.finishReason ?? got.finish;
    got.usage = chunk.usageMetadata ?? got.usage;
  }
  return got;
}

// fails asserts that a call is refused with this status and with an error that has these words.
async function fails(call, status, ...words) {
  await assert.rejects(call, (err) => {
    assert.ok(err instanceof ApiError, `it was ${err}`);
    assert.equal(err.status, status);
    for (const word of words) {
      assert.ok(err.message.includes(word), `${word} is not in ${err.message}`);
    }
    return true;
  });
}

const Trip = z.object({
  city: z.string(),
  kind: z.enum(['business', 'holiday']),
  days: z.number().int().min(3).max(5),
  stops: z.array(z.object({ name: z.string() })).min(2),
  back: z.boolean(),
});

// The same in the words of the service.
const trip = {
  type: Type.OBJECT,
  properties: {
    city: { type: Type.STRING },
    kind: { type: Type.STRING, format: 'enum', enum: ['business', 'holiday'] },
    days: { type: Type.INTEGER, minimum: 3, maximum: 5 },
    stops: { type: Type.ARRAY, minItems: '2', items: { type: Type.OBJECT, properties: { name: { type: Type.STRING } }, required: ['name'] } },
    back: { type: Type.BOOLEAN, nullable: true },
  },
  required: ['city', 'kind', 'days', 'stops', 'back'],
};

const tools = [{
  functionDeclarations: [
    { name: 'book', description: 'to book', parameters: trip },
    { name: 'cancel', description: 'to cancel', parametersJsonSchema: z.toJSONSchema(z.object({ id: z.string().min(3) })) },
  ],
}];

for (const way of Object.keys(ways)) {
  test(`${way}: one answer`, async () => {
    const client = make(way);
    const answer = await client.ask(hello);
    assert.equal(answer.text, greeting);
    assert.equal(answer.candidates[0].finishReason, 'STOP');
    assert.equal(answer.modelVersion, model);
    assert.deepEqual([answer.usageMetadata.promptTokenCount, answer.usageMetadata.candidatesTokenCount], [12, 9]);
    assert.ok(answer.responseId, 'there is no id');
    const { headers } = client.requests[0];
    assert.equal(headers.get('authorization') ?? headers.get('x-goog-api-key'),
      way === 'Vertex AI by a project' ? 'Bearer simulated-token' : 'any');
  });

  test(`${way}: a stream`, async () => {
    const got = await collect(await make(way).stream(hello));
    assert.equal(got.text, greeting);
    assert.ok(got.deltas > 3, `${got.deltas} deltas`);
    assert.equal(got.finish, 'STOP');
    assert.equal(got.usage.totalTokenCount, 21);
  });

  test(`${way}: everything that a request may have`, async () => {
    const answer = await make(way).ask({
      model,
      contents: [{ role: 'user', parts: [{ text: 'What is it?' }, { inlineData: { mimeType: 'image/png', data: 'iVBORw==' } }] }],
      config: {
        systemInstruction: 'Be brief.', temperature: 0, topP: 0.5, maxOutputTokens: 100, stopSequences: ['END'],
        thinkingConfig: { thinkingBudget: 0 }, safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_ONLY_HIGH' }],
      },
    });
    assert.equal(answer.text, greeting);
  });

  test(`${way}: a chat of two turns, the second streamed`, async () => {
    const client = make(way);
    const chat = client.ai.chats.create({ model });
    assert.equal((await chat.sendMessage({ message: 'Hello' })).text, greeting);
    assert.equal((await collect(await chat.sendMessageStream({ message: 'Once more' }))).text, greeting);
    assert.deepEqual(client.requests[1].body.contents.map((c) => c.role), ['user', 'model', 'user']);
  });

  for (const version of ['gemini-2.5-flash', 'gemini-3-pro-preview']) {
    test(`${way}: ${version} calls a tool once, its result is answered`, async () => {
      const client = make(way);
      const contents = [{ role: 'user', parts: [{ text: 'Book it.' }] }];
      const request = { model: version, contents, config: { tools } };
      const first = await client.ask(request);
      const [call, ...more] = first.functionCalls;
      assert.equal(more.length, 0);
      assert.equal(call.name, 'book');
      Trip.parse(call.args);
      contents.push(first.candidates[0].content, {
        role: 'user', parts: [{ functionResponse: { id: call.id, name: call.name, response: { booked: true } } }],
      });
      assert.match((await client.ask(request)).text, /result of book\b/);
      assert.match((await collect(await client.stream(request))).text, /result of book\b/);
    });
  }

  test(`${way}: a tool is called in a stream`, async () => {
    const got = await collect(await make(way).stream({ ...hello, config: { tools } }));
    assert.equal(got.calls.length, 1);
    Trip.parse(got.calls[0].args);
  });

  test(`${way}: a tool that is chosen is called`, async () => {
    for (const [mode, allowedFunctionNames, name] of [['ANY', ['cancel'], 'cancel'], ['ANY', undefined, 'book'], ['AUTO', undefined, 'book'], ['NONE', undefined, undefined]]) {
      const toolConfig = { functionCallingConfig: { mode: FunctionCallingConfigMode[mode], allowedFunctionNames } };
      const answer = await make(way).ask({ ...hello, config: { tools, toolConfig } });
      assert.equal(answer.functionCalls?.[0].name, name);
    }
  });

  for (const stream of [false, true]) {
    test(`${way}: the SDK calls the tool and asks again${stream ? ', streamed' : ''}`, async () => {
      const client = make(way);
      const asked = [];
      const book = {
        tool: async () => ({ functionDeclarations: tools[0].functionDeclarations.slice(0, 1) }),
        callTool: async (calls) => calls.map((c) => {
          asked.push(Trip.parse(c.args));
          return { functionResponse: { id: c.id, name: c.name, response: { booked: true } } };
        }),
      };
      const request = { ...hello, config: { tools: [book] } };
      const text = stream ? (await collect(await client.stream(request))).text : (await client.ask(request)).text;
      assert.match(text, /result of book\b/);
      assert.equal(asked.length, 1);
      assert.equal(client.requests.length, 2);
    });
  }

  test(`${way}: output by a schema`, async () => {
    for (const schema of [{ responseSchema: trip }, { responseJsonSchema: z.toJSONSchema(Trip) }]) {
      const request = { ...hello, config: { responseMimeType: 'application/json', ...schema } };
      Trip.parse(JSON.parse((await make(way).ask(request)).text));
      Trip.parse(JSON.parse((await collect(await make(way).stream(request))).text));
    }
    const json = await make(way).ask({ ...hello, config: { responseMimeType: 'application/json' } });
    assert.deepEqual(JSON.parse(json.text), { answer: greeting });
    const word = { responseMimeType: 'text/x.enum', responseSchema: { type: Type.STRING, enum: ['urgent', 'normal'] } };
    assert.equal((await make(way).ask({ ...hello, config: word })).text, 'urgent');
  });

  for (const [what, request, ...words] of [
    ['an unknown role', { model, contents: [{ role: 'robot', parts: [{ text: 'x' }] }] }, 'valid role: user, model'],
    ['a temperature out of bounds', { ...hello, config: { temperature: 3 } }, 'temperature'],
    ['a result without a call', { model, contents: [{ role: 'user', parts: [{ functionResponse: { name: 'book', response: {} } }] }] }, 'function response turn'],
    ['a name of a tool that is none', { ...hello, config: { tools: [{ functionDeclarations: [{ name: '1 2' }] }] } }, 'function name'],
    ['a schema that is not JSON\'s', { ...hello, config: { responseSchema: trip } }, way === 'the Gemini API' ? 'response_mime_type' : 'responseMimeType'],
  ]) {
    test(`${way}: ${what} is refused`, async () => {
      await fails(make(way).ask(request), 400, 'INVALID_ARGUMENT', ...words);
      await fails(make(way).stream(request), 400, 'INVALID_ARGUMENT', ...words);
    });
  }

  test(`${way}: a method that is not there`, () => fails(make(way).ai.models.countTokens(hello), 404));

  test(`${way}: throttled, without retries`, async () => {
    for (const call of ['ask', 'stream']) {
      const client = make(way, ['status=429,retry-after=2']);
      await fails(client[call](hello), 429, 'RESOURCE_EXHAUSTED', '"retryDelay":"2s"');
      assert.equal(client.requests.length, 1);
    }
  });

  test(`${way}: throttled, the SDK waits and asks again`, async () => {
    const client = make(way, ['status=429'], { retryOptions: { attempts: 2 } });
    assert.equal((await client.ask(hello)).text, greeting);
    assert.equal(client.requests.length, 2);
  });

  for (const [fault, status, word] of [
    ['error=auth', 401, 'UNAUTHENTICATED'],
    ['error=auth,status=403', 403, 'PERMISSION_DENIED'],
    ['error=not_found', 404, 'NOT_FOUND'],
    ['error=context_too_long', 400, 'token count'],
    ['error=quota_exceeded', 429, 'QuotaFailure'],
    ['error=timeout', 504, 'DEADLINE_EXCEEDED'],
    ['status=500', 500, 'INTERNAL'],
    ['status=503', 503, 'UNAVAILABLE'],
    ['explode', 400, 'BAD_FAULT'],
  ]) {
    test(`${way}: an account with ${fault}`, async () => {
      await fails(make(way, [fault]).ask(hello), status, word);
      await fails(make(way, [fault]).stream(hello), status, word);
    });
  }

  // The SDK knows an error only if nothing else comes with it, so there is a pause in front.
  test(`${way}: an error inside a stream`, async () => {
    const fault = 'status=503,at=stream,gap=50ms';
    await fails((async () => collect(await make(way, [fault]).stream(hello)))(), 503, 'UNAVAILABLE');
  });

  test(`${way}: what the filter stops`, async () => {
    assert.equal((await make(way, ['error=content_filtered']).ask(hello)).promptFeedback.blockReason, 'SAFETY');
    const got = await collect(await make(way, ['error=content_filtered,at=stream']).stream(hello));
    assert.equal(got.finish, 'SAFETY');
    assert.ok(got.text.length < greeting.length);
  });

  // The SDK lets what Node says of a broken connection through as it is.
  for (const [fault, words] of [['cut=start', /fetch failed/], ['reset=start', /fetch failed/], ['cut=half', /terminated/], ['reset=half', /terminated/]]) {
    test(`${way}: a body with ${fault}`, () => assert.rejects(make(way, [fault]).ask(hello), words));
  }

  for (const fault of ['cut=half', 'cut=frame', 'cut=end', 'reset=half']) {
    test(`${way}: a stream with ${fault}`, async () => {
      const got = { text: '', calls: [] };
      await assert.rejects(async () => collect(await make(way, [fault]).stream(hello), got), /terminated/);
      assert.ok(greeting.startsWith(got.text) && got.text !== '', `got ${JSON.stringify(got.text)}`);
    });
  }

  for (const fault of ['trickle=9/1ms', 'write=7', 'gzip', 'delay=20ms', 'gap=5ms']) {
    test(`${way}: the same answer with ${fault}`, async () => {
      const client = make(way, [fault, fault]);
      assert.equal((await client.ask(hello)).text, greeting);
      assert.equal((await collect(await client.stream(hello))).text, greeting);
    });
  }

  test(`${way}: the same body with pings in front`, async () => {
    assert.equal((await make(way, ['ping=10ms/50ms']).ask(hello)).text, greeting);
  });

  test(`${way}: an account that hangs meets the timeout of the client`, () => assert.rejects(
    make(way, ['hang'], { timeout: 100 }).ask(hello), /abort/i,
  ));

  test(`${way}: an account that hangs meets an abort`, () => assert.rejects(
    make(way, ['hang']).ask({ ...hello, config: { abortSignal: AbortSignal.timeout(100) } }), /abort/i,
  ));

  test(`${way}: a stream that is left at its first word`, async () => {
    for await (const chunk of await make(way, ['hang=stream']).stream(hello)) {
      assert.equal(chunk.text, 'Hello ');
      break;
    }
  });

  test(`${way}: twenty calls at once`, async () => {
    const client = make(way);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => i % 2
      ? client.ask(hello).then((a) => a.text)
      : client.stream(hello).then((s) => collect(s)).then((got) => got.text)));
    assert.deepEqual(new Set(answers), new Set([greeting]));
  });
}

await run();
