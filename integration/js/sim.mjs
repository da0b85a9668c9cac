// The official openai SDK against `punctual sim`, whose URL is in PUNCTUAL_SIM. It takes any key and any
// deployment, answers what fits the request, and bends an answer as the header x-punctual-fault orders.

import assert from 'node:assert/strict';
import OpenAI from 'openai';
import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { collect, run, test, ways } from './harness.mjs';
import { calls, forecast, summary, toolCases } from './tools.mjs';

const url = process.env.PUNCTUAL_SIM;
const greeting = 'Hello from a simulated Azure OpenAI account.';
const hello = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] };
const streamed = { ...hello, stream: true, stream_options: { include_usage: true } };

const make = (way, faults = [], options = {}) => ways[way](url, { key: 'any', token: 'any', faults, options });
const azure = (faults, options) => make('AzureOpenAI with a key', faults, options);
const openai = (faults, options) => make('OpenAI at its own path', faults, options);

// fails asserts that a call is refused with an error of one of the SDK's classes and with these fields.
async function fails(call, type, fields = {}) {
  await assert.rejects(call, (err) => {
    assert.equal(err.constructor.name, type.name, `it was ${err}`);
    for (const [name, want] of Object.entries(fields)) {
      assert.equal(err[name], want, name);
    }
    return true;
  });
}

for (const way of Object.keys(ways)) {
  test(`${way}: one answer`, async () => {
    const answer = await make(way).chat.completions.create(hello);
    assert.equal(answer.object, 'chat.completion');
    assert.equal(answer.model, 'gpt-4o-2024-11-20');
    assert.equal(answer.choices[0].message.role, 'assistant');
    assert.equal(answer.choices[0].message.content, greeting);
    assert.equal(answer.choices[0].finish_reason, 'stop');
    assert.deepEqual(
      [answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens], [12, 9, 21],
    );
    assert.ok(answer._request_id, 'there is no request id');
  });

  test(`${way}: a stream with usage`, async () => {
    const got = await collect(await make(way).chat.completions.create(streamed));
    assert.equal(got.text, greeting);
    assert.ok(got.deltas > 3, `${got.deltas} deltas`);
    assert.equal(got.finish, 'stop');
    assert.equal(got.usage.total_tokens, 21);
  });

  test(`${way}: a stream without usage`, async () => {
    const got = await collect(await make(way).chat.completions.create({ ...hello, stream: true }));
    assert.equal(got.text, greeting);
    assert.equal(got.usage, null);
  });

  test(`${way}: the SDK's own stream helper`, async () => {
    const stream = make(way).chat.completions.stream({ ...hello, stream_options: { include_usage: true } });
    let text = '';
    stream.on('content', (delta) => { text += delta; });
    const answer = await stream.finalChatCompletion();
    assert.equal(answer.choices[0].message.content, greeting);
    assert.equal(text, greeting);
    assert.equal(answer.usage.total_tokens, 21);
  });
}

// The calls, the summary and the forecast that toolCases wants are ordered, byte for byte; what is asked is checked
// all the same. Bytes that the account makes itself are account.mjs's matter, and what sim makes up by itself is
// below.
function ordered([kind, stream]) {
  const message = {
    calls: { role: 'assistant', content: null, tool_calls: calls.map((c) => ({ id: c.id, type: 'function', function: { name: c.name, arguments: c.arguments } })) },
    summary: { role: 'assistant', content: summary },
    forecast: { role: 'assistant', content: JSON.stringify(forecast) },
  }[kind];
  const finish = message.tool_calls ? 'tool_calls' : 'stop';
  if (!stream) {
    const choices = [{ index: 0, message, finish_reason: finish }];
    return 'body=' + encodeURIComponent(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'gpt-4o', choices }));
  }
  const deltas = [{ role: 'assistant', content: message.tool_calls ? null : '' }];
  for (const piece of message.content?.match(/.{1,9}/g) ?? []) {
    deltas.push({ content: piece });
  }
  for (const [index, { id, type, function: f }] of (message.tool_calls ?? []).entries()) {
    deltas.push({ tool_calls: [{ index, id, type, function: { name: f.name, arguments: '' } }] });
    for (const piece of f.arguments.match(/.{1,9}/g)) {
      deltas.push({ tool_calls: [{ index, function: { arguments: piece } }] });
    }
  }
  const choices = [...deltas.map((delta) => ({ index: 0, delta, finish_reason: null })), { index: 0, delta: {}, finish_reason: finish }];
  const events = choices.map((choice) => 'data: ' + JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'gpt-4o', choices: [choice] }) + '\n\n');
  return 'header=Content-Type:text/event-stream,body=' + encodeURIComponent(events.join('') + 'data: [DONE]\n\n');
}

toolCases('AzureOpenAI with a key', (kinds) => azure(kinds.map(ordered)));
toolCases('OpenAI at its own path', (kinds) => openai(kinds.map(ordered)));

const Trip = z.object({
  city: z.string(),
  kind: z.enum(['business', 'holiday']),
  days: z.number().int().min(3).max(5),
  price: z.number().gt(0.5).lt(0.75),
  code: z.string().regex(/^[A-Z]{3}-\d{2}$/),
  from: z.object({ lat: z.number(), lon: z.number().nullable() }),
  stops: z.array(z.object({ name: z.string(), mode: z.union([z.literal('train'), z.literal('bus')]) })).min(2),
  note: z.string().nullable(),
  back: z.boolean(),
});

const Node = z.object({ name: z.string(), get children() { return z.array(Node); }, get next() { return Node.nullable(); } });

// What sim makes up: zod judges it, by the schema from which the SDK made the one that sim was given.
for (const way of ['AzureOpenAI with a key', 'OpenAI at the v1 path of Azure', 'OpenAI at its own path']) {
  for (const [name, schema] of Object.entries({ Trip, Node })) {
    test(`${way}: output by the schema ${name}, made up`, async () => {
      const request = { ...hello, response_format: zodResponseFormat(schema, 'made_up') };
      const { choices } = await make(way).chat.completions.parse(request);
      assert.ok(choices[0].message.parsed, 'nothing was parsed');
      schema.parse(JSON.parse(choices[0].message.content));
      const stream = make(way).chat.completions.stream(request);
      schema.parse(JSON.parse((await stream.finalChatCompletion()).choices[0].message.content));
    });
  }

  test(`${way}: an object, made up`, async () => {
    const messages = [{ role: 'user', content: 'Hello, in JSON' }];
    const { choices } = await make(way).chat.completions.create({ ...hello, messages, response_format: { type: 'json_object' } });
    assert.deepEqual(JSON.parse(choices[0].message.content), { answer: greeting });
  });

  for (const stream of [false, true]) {
    test(`${way}: a tool is called once, made up${stream ? ', streamed' : ''}`, async () => {
      const client = make(way);
      const asked = [];
      const runner = client.chat.completions.runTools({
        ...hello,
        stream,
        tools: [zodFunction({ name: 'book_trip', parameters: Trip, function: (trip) => { asked.push(Trip.parse(trip)); return 'booked'; } })],
      });
      assert.match(await runner.finalContent(), /result of book_trip/);
      assert.equal(asked.length, 1);
      assert.equal(client.requests.length, 2);
    });

    test(`${way}: a tool that is chosen is called, made up${stream ? ', streamed' : ''}`, async () => {
      const tools = [zodFunction({ name: 'first', parameters: Node }), zodFunction({ name: 'second', parameters: Trip })];
      for (const [choice, name, schema] of [['required', 'first', Node], [{ type: 'function', function: { name: 'second' } }, 'second', Trip]]) {
        const request = { ...hello, tools, tool_choice: choice };
        const answer = stream
          ? await make(way).chat.completions.stream(request).finalChatCompletion()
          : await make(way).chat.completions.create(request);
        const [call, ...more] = answer.choices[0].message.tool_calls;
        assert.equal(more.length, 0);
        assert.equal(call.function.name, name);
        schema.parse(JSON.parse(call.function.arguments));
      }
    });
  }
}

for (const way of ['AzureOpenAI with a key', 'OpenAI at its own path']) {
  test(`${way}: an unknown role is refused`, () => fails(
    make(way).chat.completions.create({ ...hello, messages: [{ role: 'robot', content: 'Hello' }] }),
    OpenAI.BadRequestError,
    { status: 400, code: 'invalid_value', param: 'messages[0].role', type: 'invalid_request_error' },
  ));

  test(`${way}: a parameter out of bounds is refused`, () => fails(
    make(way).chat.completions.create({ ...hello, temperature: 3 }),
    OpenAI.BadRequestError,
    { status: 400, code: 'decimal_above_max_value', param: 'temperature', type: 'invalid_request_error' },
  ));

  test(`${way}: a parameter of another type is refused`, () => fails(
    make(way).chat.completions.create({ ...hello, max_completion_tokens: 'many' }),
    OpenAI.BadRequestError, { code: 'invalid_type', param: 'max_completion_tokens' },
  ));

  test(`${way}: a parameter that does not exist is refused`, async () => {
    await assert.rejects(make(way).chat.completions.create({ ...hello, wisdom: 1 }), /Unrecognized request argument supplied: wisdom/);
  });

  test(`${way}: a tool result without a call is refused`, () => fails(
    make(way).chat.completions.create({ ...hello, messages: [...hello.messages, { role: 'tool', tool_call_id: 'x', content: 'y' }] }),
    OpenAI.BadRequestError, { param: 'messages.[1].role' },
  ));

  test(`${way}: a strict schema that leaves properties open is refused`, () => fails(
    make(way).chat.completions.create({
      ...hello,
      response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema: { type: 'object', properties: {} } } },
    }),
    OpenAI.BadRequestError, { param: 'response_format' },
  ));

  test(`${way}: a prompt longer than the window is refused`, () => fails(
    make(way).chat.completions.create({ ...hello, messages: [{ role: 'user', content: 'word '.repeat(150_000) }] }),
    OpenAI.BadRequestError, { code: 'context_length_exceeded', param: 'messages' },
  ));

  test(`${way}: a stream is refused as one body`, () => fails(
    make(way).chat.completions.create({ ...streamed, messages: [] }), OpenAI.BadRequestError, { status: 400 },
  ));

  test(`${way}: throttled, without retries`, async () => {
    const client = make(way, ['status=429,retry-after=2']);
    await assert.rejects(client.chat.completions.create(hello), (err) => {
      assert.ok(err instanceof OpenAI.RateLimitError, `it was ${err}`);
      assert.equal(err.headers.get('retry-after'), '2');
      assert.equal(err.headers.get('retry-after-ms'), '2000');
      return true;
    });
    assert.equal(client.requests.length, 1);
  });

  test(`${way}: throttled, the SDK waits as long as it is told and asks again`, async () => {
    const client = make(way, ['status=429,retry-after=0.9'], { maxRetries: 1 }); // its own wait is 0.5 s at most
    const answer = await client.chat.completions.create(hello);
    assert.equal(answer.choices[0].message.content, greeting);
    assert.equal(client.requests.length, 2);
    assert.equal(client.requests[1].headers.get('x-stainless-retry-count'), '1');
    const waited = client.requests[1].at - client.requests[0].at;
    assert.ok(waited >= 890, `it waited ${waited} ms`);
  });

  test(`${way}: throttled before a stream, the SDK waits and asks again`, async () => {
    const client = make(way, ['status=429,retry-after=0.1'], { maxRetries: 1 });
    assert.equal((await collect(await client.chat.completions.create(streamed))).text, greeting);
    assert.equal(client.requests.length, 2);
  });
}

test('a wrong key', () => fails(
  azure(['error=auth']).chat.completions.create(hello), OpenAI.AuthenticationError, { status: 401, code: '401' },
));

test('an unknown deployment', () => fails(
  azure(['error=not_found']).chat.completions.create(hello), OpenAI.NotFoundError, { status: 404, code: 'DeploymentNotFound' },
));

test('an unknown path', () => fails(
  azure().post('/nowhere', { body: {} }), OpenAI.NotFoundError, { status: 404, code: '404' },
));

test('an api-version that never was', () => fails(
  azure([], { apiVersion: 'latest' }).chat.completions.create(hello), OpenAI.NotFoundError, { status: 404, code: '404' },
));

test('a quota that is used up', () => fails(
  azure(['error=quota_exceeded']).chat.completions.create(hello), OpenAI.RateLimitError, { status: 429, code: 'insufficient_quota' },
));

test('a prompt that the content filter stops', () => assert.rejects(
  azure(['error=content_filtered']).chat.completions.create(hello),
  (err) => {
    assert.ok(err instanceof OpenAI.BadRequestError, `it was ${err}`);
    assert.equal(err.code, 'content_filter');
    assert.equal(err.error.innererror.code, 'ResponsibleAIPolicyViolation');
    assert.equal(err.error.innererror.content_filter_result.violence.filtered, true);
    return true;
  },
));

test('an answer that the content filter stops', async () => {
  const got = await collect(await azure(['error=content_filtered,at=stream']).chat.completions.create(streamed));
  assert.equal(got.finish, 'content_filter');
  assert.ok(got.text.length < greeting.length);
});

test('an error of the server, without retries', () => fails(
  azure(['status=500']).chat.completions.create(hello), OpenAI.InternalServerError, { status: 500, type: 'server_error' },
));

test('an error of the server, then an answer', async () => {
  const client = azure(['status=503'], { maxRetries: 1 });
  assert.equal((await client.chat.completions.create(hello)).choices[0].message.content, greeting);
  assert.equal(client.requests.length, 2);
});

test('an error of the server inside a stream', async () => {
  const stream = await azure(['status=500,at=stream']).chat.completions.create(streamed);
  await fails(collect(stream), OpenAI.APIError, { type: 'server_error' });
});

test('a connection that is cut before anything came', () => fails(
  azure(['cut=start']).chat.completions.create(hello), OpenAI.APIConnectionError, { status: undefined },
));

test('a connection that is cut before anything came, then an answer', async () => {
  const client = azure(['reset=start'], { maxRetries: 1 });
  assert.equal((await client.chat.completions.create(hello)).choices[0].message.content, greeting);
  assert.equal(client.requests.length, 2);
});

// The SDK lets what Node says of a broken body through as it is: a TypeError "terminated".
for (const fault of ['cut=half', 'reset=half']) {
  test(`a body with ${fault}`, () => assert.rejects(azure([fault]).chat.completions.create(hello), /terminated/));
}

for (const fault of ['cut=half', 'cut=frame', 'cut=end', 'reset=half']) {
  test(`a stream with ${fault}`, async () => {
    const stream = await azure([fault]).chat.completions.create(streamed);
    let text = '';
    await assert.rejects(async () => {
      for await (const chunk of stream) {
        text += chunk.choices[0]?.delta.content ?? '';
      }
    }, /terminated/);
    assert.ok(greeting.startsWith(text) && text !== '', `got ${JSON.stringify(text)}`);
  });
}

test('an account that hangs meets the timeout of the client', () => fails(
  azure(['hang'], { timeout: 100 }).chat.completions.create(hello), OpenAI.APIConnectionTimeoutError,
));

test('a slow account is asked again after the timeout of the client', async () => {
  const client = azure(['delay=60s'], { timeout: 2_000, maxRetries: 1 });
  assert.equal((await client.chat.completions.create(hello)).choices[0].message.content, greeting);
});

test('a call that is aborted while it hangs', async () => {
  const aborter = new AbortController();
  const call = azure(['hang']).chat.completions.create(hello, { signal: aborter.signal });
  setTimeout(() => aborter.abort(), 50);
  await fails(call, OpenAI.APIUserAbortError);
});

test('a stream that is aborted at its first word', async () => {
  const aborter = new AbortController();
  const stream = await azure(['hang=stream']).chat.completions.create(streamed, { signal: aborter.signal });
  let text = '';
  for await (const chunk of stream) { // the SDK ends the loop without an error
    text += chunk.choices[0]?.delta.content ?? '';
    if (text) {
      aborter.abort();
    }
  }
  assert.equal(text, 'Hello ');
});

test('a stream that is left at its first word', async () => {
  const stream = await azure(['gap=60s']).chat.completions.create(streamed);
  for await (const chunk of stream) {
    if (chunk.choices[0]?.delta.content) {
      break;
    }
  }
  assert.ok(stream.controller.signal.aborted);
});

for (const fault of ['gzip', 'write=7', 'trickle=100/1ms', 'delay=20ms', 'write=1,gzip']) {
  test(`the same answer with ${fault}`, async () => {
    const client = azure([fault, fault]);
    assert.equal((await client.chat.completions.create(hello)).choices[0].message.content, greeting);
    const got = await collect(await client.chat.completions.create(streamed));
    assert.equal(got.text, greeting);
    assert.equal(got.usage.total_tokens, 21);
  });
}

test('the same body with pings in front', async () => {
  assert.equal((await azure(['ping=10ms/50ms']).chat.completions.create(hello)).choices[0].message.content, greeting);
});

test('errors at the path of OpenAI have its form', async () => {
  for (const [fault, type, fields] of [
    ['status=429,retry-after=1', OpenAI.RateLimitError, { code: 'rate_limit_exceeded', type: 'tokens', param: null }],
    ['status=401', OpenAI.AuthenticationError, { code: 'invalid_api_key', type: 'invalid_request_error', param: null }],
    ['error=not_found', OpenAI.NotFoundError, { code: 'model_not_found', type: 'invalid_request_error', param: null }],
    ['status=503', OpenAI.InternalServerError, { code: null, type: 'server_error', param: null }],
  ]) {
    await fails(openai([fault]).chat.completions.create(hello), type, fields);
  }
});

for (const fault of ['gap=5ms', 'ping=10ms/50ms']) {
  test(`the same stream with ${fault}`, async () => {
    assert.equal((await collect(await azure([fault]).chat.completions.create(streamed))).text, greeting);
  });
}

test('a fault that does not exist', () => fails(
  azure(['explode']).chat.completions.create(hello), OpenAI.BadRequestError, { code: 'bad_fault', param: 'X-Punctual-Fault' },
));

test('twenty calls at once', async () => {
  const client = azure();
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => i % 2
    ? client.chat.completions.create(hello).then((a) => a.choices[0].message.content)
    : client.chat.completions.create(streamed).then(collect).then((got) => got.text)));
  assert.deepEqual(new Set(answers), new Set([greeting]));
});

await run();
