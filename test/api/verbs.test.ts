/** What trains nothing, from code; and the prompts of `experience`, which are those of `rl`. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { main } from '../../src/cli/main.js'
import {
  evaluate,
  experience,
  exportModel,
  generate,
  grpo,
  importModel,
  LocalModel,
  rl,
  score,
  serve,
} from '../../src/index.js'
import { Journal } from '../../src/run/index.js'
import { IterationJournal } from '../../src/train/rl/iteration-journal.js'
import { atEnd } from '../support/at-end.js'
import { fresh, jsonl, written } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'
import { templateFile, tokenizer } from '../support/tokenizers.js'

const model = await modelDirectory(1)
const live = await LocalModel.load(model, { role: 'language', device: 'cpu' })
atEnd(() => live.dispose())
const rows = Array.from({ length: 4 }, (_, i) => ({ prompt: `Question ${i}:`, letter: 'aeio'[i]! }))
const cpu = { device: 'cpu', chatTemplate: 'none' } as const

async function all<T>(made: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of made) found.push(one)
  return found
}

test('generate: rows or a file, a directory or a model of the program, give the same samples', async () => {
  const sampling = { n: 2, maxNewTokens: 6, seed: 3, ...cpu }
  const fromRows = await all(generate({ model, data: rows, ...sampling }))
  expect(fromRows.map(({ index, sample }) => [index, sample])).toEqual(
    rows.flatMap((_, i) => [
      [i, 0],
      [i, 1],
    ]),
  )
  expect(await all(generate({ model, data: jsonl(rows), ...sampling }))).toEqual(fromRows)
  expect(await all(generate({ model: live, tokenizer, data: rows, ...sampling }))).toEqual(fromRows)
  const wrong = generate({ model, data: [{ prompt: 'a' }, { ids: [-1] }], ...sampling })
  await expect(all(wrong)).rejects.toThrow(/data: a bad row\n {2}data, row 2: /)
})

test('score: log-probabilities of responses', async () => {
  const data = rows.map(({ prompt, letter }) => ({ prompt, response: letter }))
  const scored = await all(score({ model, data, ...cpu }))
  expect(scored).toHaveLength(4)
  for (const one of scored) expect(one).toMatchObject({ logprobs: expect.any(Float32Array) })
  expect(await all(score({ model: live, tokenizer, data: new Set(data), chatTemplate: 'none' }))).toEqual(scored)
})

test('evaluate and serve take what is live', async () => {
  const data = rows.map(({ prompt, letter }) => ({ prompt, target: letter }))
  const { evaluation } = await evaluate({ model: live, data, ...cpu, maxNewTokens: 4 })
  expect(evaluation.model.answers?.answered).toBe(4)
  const server = await serve({ model: live, tokenizer, port: 0 })
  try {
    const { data: served } = (await (await fetch(`${server.url}/models`)).json()) as { data: { id: string }[] }
    expect(served.map(({ id }) => id)).toEqual(['model'])
  } finally {
    await server.close()
  }
  expect((await live.score([Int32Array.of(1, 2)]))[0]!.logprobs).toHaveLength(1)
})

test('experience: live parts, and the experiences of the command', async () => {
  const options = { ...cpu, advantageEstimator: 'rloo', nSamplesPerPrompt: 2, maxNewTokens: 6 } as const
  const made = experience({
    ...options,
    model: live,
    data: rows,
    rewards: ({ response, row }) => response.length + row.letter.length,
  })
  const [batch, ...rest] = await all(made)
  expect(rest).toEqual([])
  const output = fresh('experiences.jsonl')
  const config = written(
    'experience.yaml',
    JSON.stringify({ ...options, model, data: jsonl(rows), output, rewards: 'none' }),
  )
  const rewards = written('reward.mjs', 'export default ({ response, row }) => response.length + row.letter.length\n')
  expect(await main(['experience', '--config', config, '--set', `rewards=${rewards}`])).toBe(0)
  const lines = readFileSync(output, 'utf8')
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { reward: number; advantages: number[] })
  expect(lines.map(({ reward }) => reward)).toEqual(batch!.experiences.map(({ reward }) => reward))
  expect(lines.map(({ advantages }) => advantages)).toEqual(batch!.experiences.map(one => [...one.advantages]))
})

test('experience makes the prompts that rl makes of the same file', async () => {
  const chatTemplate = await templateFile(
    "{% for message in messages %}<{{ message['role'] }}>{{ message['content'] }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
  )
  const long = 'word '.repeat(60)
  const data = {
    path: jsonl([
      { question: 'What is 2 + 2?' },
      { question: `Start ${long} end` },
      { question: [{ role: 'user', content: 'Say hello' }] },
    ]),
    columns: { prompt: 'question' },
  }
  const same = {
    ...{ model, device: 'cpu', data, chatTemplate, promptTemplate: 'Q: {prompt}', systemPrompt: 'Be brief.' },
    ...{ promptMaxLen: 40, nSamplesPerPrompt: 2, maxNewTokens: 4, rolloutBatchSize: 3 },
    rewards: written('one.mjs', 'export default () => 1\n'),
  } as const
  const output = fresh('experiences.jsonl')
  const config = written('experience.yaml', JSON.stringify({ ...same, output, advantageEstimator: 'rloo' }))
  expect(await main(['experience', '--config', config])).toBe(0)
  const lines = readFileSync(output, 'utf8').trimEnd().split('\n')
  const prompts = lines.map(line => (JSON.parse(line) as { prompt_ids: number[] }).prompt_ids.join())
  const noKl = { klController: { kind: 'fixed', coef: 0 } } as const
  const { directory } = await rl({ ...same, ...noKl, algorithm: 'rloo', iterations: 1 })
  const recorded = await IterationJournal.open(new Journal(join(directory, 'journal')), 0)
  expect(new Set(prompts)).toEqual(new Set(recorded.prompts.map(({ ids }) => ids.join())))
  expect(new Set(prompts).size).toBe(3)
})

test('grpo goes through the same checks as the command', async () => {
  const run = grpo({ ...cpu, model, data: rows, rewards: () => 1, maxNewTokens: 4096 })
  await expect(run).rejects.toThrow('grpo: maxNewTokens: 4096')
})

test('options that do not exist, and what is missing, are errors before any work', async () => {
  const given = { model, data: rows }
  // @ts-expect-error there is no such option
  await expect(all(generate({ ...given, maxNewToken: 4 }))).rejects.toThrow(
    'generate: there is no option "maxNewToken"; did you mean maxNewTokens?',
  )
  // @ts-expect-error there is no such option
  await expect(all(score({ ...given, pack: 'off' }))).rejects.toThrow('score: there is no option "pack"')
  // @ts-expect-error there is no such option
  await expect(serve({ model, prt: 0 })).rejects.toThrow('serve: there is no option "prt"; did you mean port?')
  // @ts-expect-error data is missing
  await expect(all(generate({ model }))).rejects.toThrow('generate: data: missing')
  // @ts-expect-error there is no such option
  await expect(exportModel(model, { to: 'gguf', typ: 'f16' })).rejects.toThrow(
    'exportModel: there is no option "typ"; did you mean type?',
  )
  // @ts-expect-error options are missing
  await expect(exportModel(model)).rejects.toThrow('exportModel: expected options')
  // @ts-expect-error not a form
  await expect(exportModel(model, { to: 'onnx' })).rejects.toThrow(
    "exportModel: to: expected 'gguf' or 'hf', got \"onnx\"",
  )
  // @ts-expect-error out is missing
  await expect(importModel('model.gguf', {})).rejects.toThrow('importModel: out: missing')
})
