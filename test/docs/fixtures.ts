/** What a reader of a page has before it begins: models, data and finished runs, all of them tiny. */
import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { stringify } from 'yaml'
import { colourNames, squarePng, visionDirectory } from '../support/vision-task.js'
import { root } from './blocks.js'
import { type } from './session.js'

const tokenizer = join(root, 'test/fixtures/tokenizer')
const sums = Array.from({ length: 24 }, (_, i) => ({ question: `What is ${i} + 1?`, answer: String(i + 1) }))
const lines = (rows: readonly object[]): string => rows.map(row => `${JSON.stringify(row)}\n`).join('')
const conversations = lines(
  sums.map(({ question, answer }) => ({
    messages: [
      { role: 'user', content: question },
      { role: 'assistant', content: answer },
    ],
  })),
)
const answered = lines(sums.map(({ question, answer }) => ({ prompt: question, completion: answer, target: answer })))
const rl = { data: 'prompts.jsonl', rewards: 'reward.ts' }

/** Files by name. */
const files: Readonly<Record<string, string>> = {
  'conversations.jsonl': conversations,
  'train.jsonl': conversations,
  'preferences.jsonl': lines(
    sums.map(({ question, answer }) => ({ prompt: question, chosen: answer, rejected: 'No' })),
  ),
  'prompts.jsonl': lines(sums.map(({ question, answer }) => ({ prompt: question, target: answer }))),
  'test.jsonl': answered.split('\n').slice(0, 4).join('\n'),
  'rows.jsonl': lines(sums.map(({ question, answer }) => ({ prompt: question, response: answer }))),
  'samples.jsonl': lines(sums.map(({ question, answer }) => ({ prompt: question, response: answer, target: answer }))),
  'corpus.txt': 'Whetstone sharpens models. '.repeat(20),
  'reward.ts': 'export default ({ response }: { response: string }) => (response.length % 2 === 0 ? 1 : 0)\n',
  'rewards.yaml': stringify({ sources: { right: { type: 'rule', rule: 'numeric-answer' } } }),
  'sft.yaml': stringify({ model: 'model', data: 'conversations.jsonl', output: 'runs/sft' }),
  'rl.yaml': stringify({ ...rl, model: 'model', output: 'runs/rl' }),
  'grpo.yaml': stringify({ ...rl, algorithm: 'grpo', model: 'model', output: 'runs/grpo' }),
}

/** Coloured squares, named by their colour, and a tiny model that reads them. */
async function makePictures(): Promise<void> {
  cpSync(await visionDirectory(1), 'vision', { recursive: true })
  mkdirSync('pictures')
  for (let i = 0; i < 12; i++) {
    const colour = colourNames[i % colourNames.length]!
    writeFileSync(`pictures/${colour}-${i}.png`, await squarePng(colour, i))
  }
}

/** The model and the run that all others are copies of, made once in `folder`. */
export async function makeFixtures(folder: string): Promise<void> {
  process.chdir(folder)
  const shape = '--hidden 32 --intermediate 48 --layers 2 --heads 4 --kv-heads 2 --context 512'
  const typed = (line: string) => type({ line, shown: '' }, {})
  await typed(`whetstone init --family qwen2 ${shape} --tokenizer ${tokenizer} --out model`)
  for (const name of ['prompts.jsonl', 'reward.ts']) writeFileSync(name, files[name]!)
  writeFileSync('rl.yaml', stringify({ ...rl, model: 'model', output: 'run', iterations: 2, rolloutBatchSize: 2 }))
  await typed('whetstone rl --config rl.yaml --set nSamplesPerPrompt=2 --set maxNewTokens=4 --set device=cpu')
  await makePictures()
}

/** Puts one of them into the current directory. */
export function give(name: string, made: string): void {
  mkdirSync(dirname(name), { recursive: true })
  const text = files[name]
  if (text !== undefined) writeFileSync(name, text)
  else cpSync(sourceOf(name, made), name, { recursive: true })
}

function sourceOf(name: string, made: string): string {
  if (name === 'docs') return join(root, 'docs')
  if (name === 'models/tokenizer') return tokenizer
  if (name === 'models/qwen2.5-vl') return join(made, 'vision')
  if (name === 'pictures') return join(made, 'pictures')
  if (name === 'sign.png') return join(made, 'pictures/red-0.png')
  return join(made, /^runs\/\w+$/.test(name) ? 'run' : 'model')
}
