import { AzureOpenAI } from 'openai';

const client = new AzureOpenAI({
  baseURL: process.env.AZURE_OPENAI_ENDPOINT + '/openai', // said in full, see below
  maxRetries: 1,
});
const request = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] };

const answer = await client.chat.completions.create(request);
console.log(answer.choices[0].message.content);

const headers = { 'x-punctual-fault': 'status=429,retry-after=0.2' };
await client.chat.completions.create(request, { headers }).catch((err) => {
  console.log(err.constructor.name); // after the second request: RateLimitError
});
