// Cases about tools and structured output, for any account that calls both tools when they are offered and
// answers in words once it has the results.

import assert from 'node:assert/strict';
import { zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { collect, test } from './harness.mjs';

const parameters = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
};

const tools = ['weather', 'population'].map((name) => ({
  type: 'function',
  function: { name, description: `the ${name} of a city`, parameters, strict: true },
}));

const question = { role: 'user', content: 'What is the weather in Zürich, and how many people live in Rome?' };

export const calls = [
  { id: 'call_1', name: 'weather', arguments: '{"city":"Zürich"}' },
  { id: 'call_2', name: 'population', arguments: '{"city":"Rome"}' },
];

export const summary = '18 degrees in Zürich; 2.8 million in Rome.';

export const forecast = { city: 'Rome', degrees: 24 };

const Forecast = z.object({ city: z.string(), degrees: z.number() });

const answers = calls.map(({ id }, i) => ({
  role: 'tool', tool_call_id: id, content: ['18 degrees', '2.8 million'][i],
}));

function assertCalls(got) {
  assert.deepEqual(
    got.map((c) => ({ id: c.id, type: c.type, name: c.function.name, arguments: c.function.arguments })),
    calls.map((c) => ({ id: c.id, type: 'function', name: c.name, arguments: c.arguments })),
  );
}

// toolCases adds the cases. make(kinds) makes a client; kinds says, for each of its requests, what the account
// is to answer: 'calls', 'summary' or 'forecast', and whether it is asked for a stream.
export function toolCases(prefix, make) {
  const body = { model: 'gpt-4o', messages: [question], tools };

  test(`${prefix}: tool calls in one body`, async () => {
    const client = make([['calls', false]]);
    const { choices } = await client.chat.completions.create(body);
    assert.equal(choices[0].finish_reason, 'tool_calls');
    assert.equal(choices[0].message.content, null);
    assertCalls(choices[0].message.tool_calls);
  });

  test(`${prefix}: tool calls in pieces`, async () => {
    const client = make([['calls', true]]);
    const got = await collect(await client.chat.completions.create({ ...body, stream: true }));
    assert.equal(got.finish, 'tool_calls');
    assert.equal(got.text, '');
    assert.deepEqual(got.calls.map(({ pieces, ...call }) => call), calls);
    assert.ok(got.calls.every((call) => call.pieces > 2), 'the arguments came in one piece');
  });

  test(`${prefix}: the SDK puts streamed tool calls together`, async () => {
    const client = make([['calls', true]]);
    const done = [];
    const stream = client.chat.completions.stream(body).on('tool_calls.function.arguments.done', (e) => done.push(e.name));
    const { choices } = await stream.finalChatCompletion();
    assert.equal(choices[0].finish_reason, 'tool_calls');
    assertCalls(choices[0].message.tool_calls);
    assert.deepEqual(done, ['weather', 'population']);
  });

  test(`${prefix}: a second turn with both results`, async () => {
    const client = make([['calls', false], ['summary', false]]);
    const first = await client.chat.completions.create(body);
    const second = await client.chat.completions.create({ ...body, messages: [question, first.choices[0].message, ...answers] });
    assert.equal(second.choices[0].finish_reason, 'stop');
    assert.equal(second.choices[0].message.content, summary);
  });

  test(`${prefix}: a second turn that leaves one result out is refused`, async () => {
    const client = make([['calls', false]]);
    const first = await client.chat.completions.create(body);
    const messages = [question, first.choices[0].message, answers[0]];
    await assert.rejects(client.chat.completions.create({ ...body, messages }), (err) => {
      assert.equal(err.constructor.name, 'BadRequestError');
      assert.equal(err.param, 'messages.[1].role');
      assert.match(err.message, /did not have response messages: call_2$/);
      return true;
    });
  });

  for (const stream of [false, true]) {
    test(`${prefix}: runTools asks, calls and asks again${stream ? ', streamed' : ''}`, async () => {
      const client = make([['calls', stream], ['summary', stream]]);
      const asked = [];
      const runner = client.chat.completions.runTools({
        ...body,
        stream,
        tools: tools.map((tool) => ({
          ...tool,
          function: {
            ...tool.function,
            parse: JSON.parse,
            function: ({ city }) => {
              asked.push(`${tool.function.name} ${city}`);
              return `the ${tool.function.name} of ${city}`;
            },
          },
        })),
      });
      assert.equal(await runner.finalContent(), summary);
      assert.deepEqual(asked, ['weather Zürich', 'population Rome']);
      assert.equal(client.requests.length, 2);
      assert.deepEqual(client.requests[1].body.messages.map((m) => m.role), ['user', 'assistant', 'tool', 'tool']);
    });
  }

  const structured = {
    model: 'gpt-4o',
    messages: [{ role: 'user', content: 'The weather in Rome?' }],
    response_format: zodResponseFormat(Forecast, 'forecast'),
  };

  test(`${prefix}: output by a schema, parsed by the SDK`, async () => {
    const { choices } = await make([['forecast', false]]).chat.completions.parse(structured);
    assert.deepEqual(choices[0].message.parsed, forecast);
  });

  test(`${prefix}: output by a schema, streamed and parsed by the SDK`, async () => {
    const stream = make([['forecast', true]]).chat.completions.stream(structured);
    const { choices } = await stream.finalChatCompletion();
    assert.deepEqual(choices[0].message.parsed, forecast);
  });
}
