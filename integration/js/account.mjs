// The official openai SDK against an account of llmtest/cloud/azure that knows one key, one token and one
// deployment, and calls tools when they are offered; ../js_test.go starts it. Its URL is in PUNCTUAL_ACCOUNT.

import assert from 'node:assert/strict';
import OpenAI from 'openai';

import { collect, run, test, ways } from './harness.mjs';
import { toolCases } from './tools.mjs';

const url = process.env.PUNCTUAL_ACCOUNT;
const right = { key: 'the-key', token: 'the-token' };
const wrong = { key: 'another-key', token: 'another-token' };
const hello = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] };

for (const [way, make] of Object.entries(ways)) {
  test(`${way}: the right credential`, async () => {
    const client = make(url, right);
    assert.equal((await client.chat.completions.create(hello)).choices[0].message.content, 'Hello.');
    assert.equal((await collect(await client.chat.completions.create({ ...hello, stream: true }))).text, 'Hello.');
  });

  test(`${way}: a wrong credential`, async () => {
    for (const stream of [false, true]) {
      await assert.rejects(make(url, wrong).chat.completions.create({ ...hello, stream }), (err) => {
        assert.ok(err instanceof OpenAI.AuthenticationError, `it was ${err}`);
        assert.equal(err.status, 401);
        return true;
      });
    }
  });

  test(`${way}: a deployment that does not exist`, async () => {
    for (const stream of [false, true]) {
      await assert.rejects(make(url, right).chat.completions.create({ ...hello, model: 'gpt-9', stream }), (err) => {
        assert.ok(err instanceof OpenAI.NotFoundError, `it was ${err}`);
        assert.equal(err.code, way === 'OpenAI at its own path' ? 'model_not_found' : 'DeploymentNotFound');
        return true;
      });
    }
  });

  toolCases(way, () => make(url, right));
}

test('AzureOpenAI with a deployment of its own', async () => {
  const client = ways['AzureOpenAI with a key'](url, { ...right, options: { deployment: 'gpt-4o' } });
  const answer = await client.chat.completions.create({ ...hello, model: 'whatever' });
  assert.equal(answer.choices[0].message.content, 'Hello.');
});

test('a token is asked for anew for each call', async () => {
  let tokens = 0;
  const client = ways['AzureOpenAI with a token'](url, {
    ...right, options: { azureADTokenProvider: async () => (++tokens === 1 ? 'the-token' : 'an-expired-token') },
  });
  await client.chat.completions.create(hello);
  await assert.rejects(client.chat.completions.create(hello), OpenAI.AuthenticationError);
  assert.equal(tokens, 2);
});

await run();
