import { BedrockRuntimeClient, ConverseCommand } from '@aws-sdk/client-bedrock-runtime';
import { GoogleGenAI } from '@google/genai';

const bedrock = new BedrockRuntimeClient();
const conversation = { modelId: process.env.LLM_BEDROCK_MODEL, messages: [{ role: 'user', content: [{ text: 'Hello' }] }] };
const { output } = await bedrock.send(new ConverseCommand(conversation));
console.log(output.message.content[0].text);

const google = new GoogleGenAI({});
const answer = await google.models.generateContent({ model: process.env.LLM_VERTEX_MODEL, contents: 'Hello' });
console.log(answer.text);
