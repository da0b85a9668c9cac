// The official AWS SDK against a simulated Bedrock, over HTTP/1.1 and over HTTP/2, which is this SDK's default.
// Its URL is in AWS_ENDPOINT_URL_BEDROCK_RUNTIME, from where the SDK takes it. `punctual sim` takes any credential;
// an account with a secret (PUNCTUAL_WRONG_SECRET is one that it refuses) verifies the signatures of every case.

import assert from 'node:assert/strict';
import { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } from '@aws-sdk/client-bedrock-runtime';
import { NodeHttp2Handler, NodeHttpHandler } from '@smithy/node-http-handler';
import { z } from 'zod';

import { noted, run, test } from './harness.mjs';

const modelId = process.env.LLM_BEDROCK_MODEL;
const greeting = 'Hello from a simulated Bedrock account.';
const said = (text) => ({ role: 'user', content: [{ text }] });
const hello = { modelId, messages: [said('Hello')] };

// The ways to the account: each is a handler of the SDK, and the name of what it speaks.
const ways = {
  'HTTP/1.1': (options) => new NodeHttpHandler(options),
  'HTTP/2': (options) => new NodeHttp2Handler(options),
};

// make makes a client that notes what it sends. Its n-th request orders the n-th fault.
function make(way, faults = [], options = {}, handling = {}) {
  const inner = ways[way](handling);
  const requests = [];
  const requestHandler = {
    metadata: inner.metadata,
    destroy: () => inner.destroy(),
    httpHandlerConfigs: () => inner.httpHandlerConfigs(),
    updateHttpClientConfig: (key, value) => inner.updateHttpClientConfig(key, value),
    async handle(request, o) {
      const fault = faults[requests.length];
      if (fault) {
        request.headers['x-punctual-fault'] = fault;
      }
      const note = noted(request.method, request.path);
      requests.push({ at: performance.now(), headers: request.headers });
      const out = await inner.handle(request, o);
      note.status = out.response.statusCode;
      return out;
    },
  };
  const client = new BedrockRuntimeClient({ maxAttempts: 1, ...options, requestHandler });
  client.requests = requests;
  return client;
}

const ask = (client, input, o) => client.send(new ConverseCommand(input), o);
const stream = async (client, input, o) => (await client.send(new ConverseStreamCommand(input), o)).stream;

// collect reads a stream to its end, and puts its message together.
async function collect(events, got = { text: '', deltas: 0, content: [], stop: null, usage: null }) {
  for await (const event of events) {
    const { start, delta, contentBlockIndex } = event.contentBlockStart ?? event.contentBlockDelta ?? {};
    if (start?.toolUse) {
      got.content[contentBlockIndex] = { toolUse: { ...start.toolUse, input: '' } };
    } else if (delta?.toolUse) {
      got.content[contentBlockIndex].toolUse.input += delta.toolUse.input;
      got.deltas++;
    } else if (delta?.text) {
      got.text += delta.text;
      got.deltas++;
    }
    got.stop = event.messageStop?.stopReason ?? got.stop;
    got.usage = event.metadata?.usage ?? got.usage;
  }
  for (const { toolUse } of got.content) {
    toolUse.input = JSON.parse(toolUse.input);
  }
  return got;
}

// fails asserts that a call is refused with an exception of this name and with these fields.
async function fails(call, name, status, message = '') {
  let seen;
  await assert.rejects(call, (err) => {
    seen = err;
    assert.equal(err.name, name, `it was ${err}`);
    assert.equal(err.$metadata.httpStatusCode, status);
    assert.ok(err.message.includes(message), err.message);
    return true;
  });
  return seen;
}

const Trip = z.object({
  city: z.string(),
  kind: z.enum(['business', 'holiday']),
  days: z.number().int().min(3).max(5),
  stops: z.array(z.object({ name: z.string() })).min(2),
  back: z.boolean(),
});

const tool = (name, schema) => ({
  toolSpec: { name, description: `to ${name}`, inputSchema: { json: z.toJSONSchema(schema) } },
});
const toolConfig = { tools: [tool('book', Trip), tool('cancel', z.object({ id: z.string() }))] };

for (const way of Object.keys(ways)) {
  test(`${way}: one answer`, async () => {
    const answer = await ask(make(way), hello);
    assert.deepEqual(answer.output.message, { role: 'assistant', content: [{ text: greeting }] });
    assert.equal(answer.stopReason, 'end_turn');
    assert.deepEqual(answer.usage, { inputTokens: 12, outputTokens: 9, totalTokens: 21 });
    assert.ok(answer.$metadata.requestId, 'there is no request id');
  });

  test(`${way}: a stream`, async () => {
    const got = await collect(await stream(make(way), hello));
    assert.equal(got.text, greeting);
    assert.ok(got.deltas > 3, `${got.deltas} deltas`);
    assert.equal(got.stop, 'end_turn');
    assert.equal(got.usage.totalTokens, 21);
  });

  test(`${way}: everything that a request may have`, async () => {
    const answer = await ask(make(way), {
      modelId,
      system: [{ text: 'Be brief.' }, { cachePoint: { type: 'default' } }],
      messages: [{ role: 'user', content: [{ text: 'What is it?' }, { image: { format: 'png', source: { bytes: new Uint8Array([137, 80, 78, 71]) } } }] }],
      inferenceConfig: { maxTokens: 100, temperature: 0, stopSequences: ['END'] },
      requestMetadata: { team: 'support' },
    });
    assert.equal(answer.output.message.content[0].text, greeting);
    assert.equal(answer.usage.cacheReadInputTokens, 0);
  });

  test(`${way}: a tool is called once, its result answered`, async () => {
    const client = make(way);
    const messages = [said('Book it.')];
    const first = await ask(client, { modelId, messages, toolConfig });
    assert.equal(first.stopReason, 'tool_use');
    const [{ toolUse }, ...more] = first.output.message.content;
    assert.equal(more.length, 0);
    assert.equal(toolUse.name, 'book');
    Trip.parse(toolUse.input);
    messages.push(first.output.message, {
      role: 'user', content: [{ toolResult: { toolUseId: toolUse.toolUseId, content: [{ json: { booked: true } }] } }],
    });
    const second = await ask(client, { modelId, messages, toolConfig });
    assert.equal(second.stopReason, 'end_turn');
    assert.match(second.output.message.content[0].text, /result of book\b/);
    const got = await collect(await stream(client, { modelId, messages, toolConfig }));
    assert.match(got.text, /result of book\b/);
  });

  test(`${way}: a tool is called in pieces`, async () => {
    const got = await collect(await stream(make(way), { modelId, messages: [said('Book it.')], toolConfig }));
    assert.equal(got.stop, 'tool_use');
    assert.equal(got.content.length, 1);
    assert.ok(got.deltas > 2, 'the input came in one piece');
    Trip.parse(got.content[0].toolUse.input);
  });

  test(`${way}: a tool that is chosen is called`, async () => {
    for (const [toolChoice, name] of [[{ any: {} }, 'book'], [{ tool: { name: 'cancel' } }, 'cancel'], [{ auto: {} }, 'book']]) {
      const { output } = await ask(make(way), { ...hello, toolConfig: { ...toolConfig, toolChoice } });
      assert.equal(output.message.content[0].toolUse.name, name);
    }
  });

  test(`${way}: output by a schema`, async () => {
    const schema = JSON.stringify(z.toJSONSchema(Trip));
    const outputConfig = { textFormat: { type: 'json_schema', structure: { jsonSchema: { name: 'trip', schema } } } };
    const { output } = await ask(make(way), { ...hello, outputConfig });
    Trip.parse(JSON.parse(output.message.content[0].text));
    Trip.parse(JSON.parse((await collect(await stream(make(way), { ...hello, outputConfig }))).text));
  });

  for (const [what, input, message] of [
    ['an unknown model', { ...hello, modelId: 'no-such-model' }, 'model identifier is invalid'],
    ['a model without on-demand throughput', { ...hello, modelId: modelId.replace('us.', '') }, 'inference profile'],
    ['an unknown role', { ...hello, messages: [{ role: 'robot', content: [{ text: 'Hello' }] }] }, 'role'],
    ['a temperature out of bounds', { ...hello, inferenceConfig: { temperature: 3 } }, 'less than or equal to 1'],
    ['a tool result without a call', { modelId, toolConfig, messages: [{ role: 'user', content: [{ toolResult: { toolUseId: 'x', content: [{ text: 'y' }] } }] }] }, 'toolResult'],
    ['tools in messages and no toolConfig', { modelId, messages: [said('x'), { role: 'assistant', content: [{ toolUse: { toolUseId: 'x', name: 'book', input: {} } }] }, { role: 'user', content: [{ toolResult: { toolUseId: 'x', content: [{ text: 'y' }] } }] }] }, 'toolConfig'],
  ]) {
    test(`${way}: ${what} is refused`, async () => {
      await fails(ask(make(way), input), 'ValidationException', 400, message);
      await fails(stream(make(way), input), 'ValidationException', 400, message);
    });
  }

  test(`${way}: throttled, without retries`, async () => {
    for (const call of [ask, stream]) {
      const client = make(way, ['status=429,retry-after=2']);
      const err = await fails(call(client, hello), 'ThrottlingException', 429);
      assert.equal(err.$response.headers['retry-after'], '2');
      assert.equal(client.requests.length, 1);
    }
  });

  test(`${way}: throttled, the SDK waits and asks again`, async () => {
    for (const call of [ask, async (...args) => collect(await stream(...args))]) {
      const client = make(way, ['status=429'], { maxAttempts: 2 });
      const answer = await call(client, hello);
      assert.equal(answer.text ?? answer.output.message.content[0].text, greeting);
      assert.equal(client.requests.length, 2);
      assert.match(client.requests[1].headers['amz-sdk-request'], /attempt=2/);
    }
  });

  for (const [fault, name, status] of [
    ['error=auth', 'UnrecognizedClientException', 403],
    ['code=InvalidSignatureException,status=403', 'InvalidSignatureException', 403],
    ['code=ExpiredTokenException,status=403', 'ExpiredTokenException', 403],
    ['code=AccessDeniedException,status=403', 'AccessDeniedException', 403],
    ['error=not_found', 'ResourceNotFoundException', 404],
    ['error=context_too_long', 'ValidationException', 400],
    ['error=quota_exceeded', 'ThrottlingException', 429],
    ['error=timeout', 'ModelTimeoutException', 408],
    ['status=500', 'InternalServerException', 500],
    ['status=503', 'ServiceUnavailableException', 503],
    ['explode', 'BadFault', 400],
  ]) {
    test(`${way}: an account with ${fault}`, async () => {
      await fails(ask(make(way, [fault]), hello), name, status);
      await fails(stream(make(way, [fault]), hello), name, status);
    });
  }

  for (const [fault, name] of [
    ['status=429,at=stream', 'ThrottlingException'],
    ['status=503,at=body', 'ServiceUnavailableException'],
    ['error=unavailable,code=ModelStreamErrorException,at=stream', 'ModelStreamErrorException'],
    ['error=invalid,at=end', 'ValidationException'],
  ]) {
    test(`${way}: a stream with ${fault}`, () => assert.rejects(
      async () => collect(await stream(make(way, [fault]), hello)),
      (err) => {
        assert.equal(err.name, name, `it was ${err}`);
        return true;
      },
    ));
  }

  test(`${way}: an answer that the content filter stops`, async () => {
    const got = await collect(await stream(make(way, ['error=content_filtered,at=stream']), hello));
    assert.equal(got.stop, 'content_filtered');
    assert.ok(got.text.length < greeting.length);
  });

  for (const fault of ['cut=start', 'reset=start', 'cut=half', 'reset=half']) {
    test(`${way}: a body with ${fault}`, () => assert.rejects(ask(make(way, [fault]), hello)));
  }

  // Over HTTP/2 the stream alone is reset, and that this SDK does not take for a reason to ask again.
  test(`${way}: a connection that is cut before anything came, then an answer`, async () => {
    const client = make(way, ['cut=start'], { maxAttempts: 2 });
    if (way === 'HTTP/2') {
      await assert.rejects(ask(client, hello), { code: 'ERR_HTTP2_STREAM_ERROR' });
      return;
    }
    assert.equal((await ask(client, hello)).output.message.content[0].text, greeting);
    assert.equal(client.requests.length, 2);
  });

  for (const fault of ['cut=half', 'cut=frame', 'cut=end', 'reset=half']) {
    test(`${way}: a stream with ${fault}`, async () => {
      const got = { text: '', content: [] };
      await assert.rejects(async () => collect(await stream(make(way, [fault]), hello), got));
      assert.ok(greeting.startsWith(got.text) && got.text !== '', `got ${JSON.stringify(got.text)}`);
    });
  }

  for (const fault of ['ping=10ms/50ms', 'trickle=9/1ms', 'write=7', 'delay=20ms', 'gap=5ms']) {
    test(`${way}: the same answer with ${fault}`, async () => {
      const client = make(way, [fault, fault]);
      assert.equal((await ask(client, hello)).output.message.content[0].text, greeting);
      assert.equal((await collect(await stream(client, hello))).text, greeting);
    });
  }

  test(`${way}: an account that hangs meets the timeout of the client`, async () => {
    const options = way === 'HTTP/2' ? { requestTimeout: 100 } : { requestTimeout: 100, throwOnRequestTimeout: true };
    await assert.rejects(ask(make(way, ['hang'], {}, options), hello), { name: 'TimeoutError' });
  });

  test(`${way}: an account that hangs meets an abort`, () => assert.rejects(
    ask(make(way, ['hang']), hello, { abortSignal: AbortSignal.timeout(100) }), { name: 'AbortError' },
  ));

  test(`${way}: a stream that is left at its first word`, async () => {
    for await (const event of await stream(make(way, ['hang=stream']), hello)) {
      if (event.contentBlockDelta) {
        assert.equal(event.contentBlockDelta.delta.text, 'Hello ');
        break;
      }
    }
  });

  test(`${way}: twenty calls at once`, async () => {
    const client = make(way);
    const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => i % 2
      ? ask(client, hello).then((a) => a.output.message.content[0].text)
      : stream(client, hello).then((s) => collect(s)).then((got) => got.text)));
    assert.deepEqual(new Set(answers), new Set([greeting]));
  });

  test(`${way}: a bearer token`, async () => {
    const client = make(way, [], { token: { token: 'a-token' }, authSchemePreference: ['httpBearerAuth'] });
    if (!process.env.PUNCTUAL_WRONG_SECRET) {
      assert.equal((await ask(client, hello)).output.message.content[0].text, greeting);
      assert.equal(client.requests[0].headers.Authorization, 'Bearer a-token');
      return;
    }
    await fails(ask(client, hello), 'AccessDeniedException', 403, 'API Key');
  });

  if (process.env.PUNCTUAL_WRONG_SECRET) {
    test(`${way}: a wrong secret`, async () => {
      const credentials = { accessKeyId: process.env.AWS_ACCESS_KEY_ID, secretAccessKey: process.env.PUNCTUAL_WRONG_SECRET };
      await fails(ask(make(way, [], { credentials }), hello), 'InvalidSignatureException', 403, 'signature');
      await fails(stream(make(way, [], { credentials }), hello), 'InvalidSignatureException', 403, 'signature');
    });

    test(`${way}: a wrong key`, async () => {
      const credentials = { accessKeyId: 'another', secretAccessKey: 'another' };
      await fails(ask(make(way, [], { credentials }), hello), 'UnrecognizedClientException', 403);
    });
  }
}

await run();
