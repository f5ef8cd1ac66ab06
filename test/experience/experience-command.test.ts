import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { stringify } from 'yaml'
import { main } from '../../src/cli/main.js'
import { openEngine } from '../../src/rollout/index.js'
import { ModelServer } from '../../src/serve/index.js'
import { expectClose } from '../support/close.js'
import { makeModel } from '../support/experience.js'
import { temporaryDirectory } from '../support/files.js'
import { tokenizerPath } from '../support/tokenizers.js'

const folder = temporaryDirectory()
const at = (name: string): string => join(folder, name)

beforeAll(async () => {
  for (const [name, role, seed] of [
    ['model', 'language', 5],
    ['reference', 'language', 6],
    ['critic', 'value', 7],
    ['judge', 'reward', 8],
  ] as const) {
    mkdirSync(at(name))
    const model = await makeModel(role, { seed })
    await model.export(at(name), { what: 'model' })
    for (const file of readdirSync(tokenizerPath))
      if (/^(tokenizer|chat_template)/.test(file)) copyFileSync(join(tokenizerPath, file), join(at(name), file))
  }
  const rows = [
    { prompt: 'What is 6 x 7?', label: 'maths', reference: '42', level: 1 },
    { messages: [{ role: 'user', content: 'Say hello' }], label: 'chat', reference: 'Hello', level: 2 },
    { prompt: 'Count to three', label: 'maths', reference: '3', level: 3 },
  ]
  writeFileSync(at('prompts.jsonl'), rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  writeFileSync(
    at('reward.ts'),
    'export default function level({ response, row }: { response: string; row: { level: number } }): number {\n  return response.length * row.level\n}\n',
  )
})

let err = ''
beforeEach(() => {
  err = ''
  const take = (text: unknown): boolean => {
    err += `${String(text)}\n`
    return true
  }
  vi.spyOn(console, 'error').mockImplementation(take)
  vi.spyOn(process.stdout, 'write').mockImplementation(take as typeof process.stdout.write)
  vi.spyOn(process.stderr, 'write').mockImplementation(take as typeof process.stderr.write)
})
afterEach(() => vi.restoreAllMocks())

const base = {
  model: 'model',
  reference: 'reference',
  data: 'prompts.jsonl',
  rewards: 'reward.ts',
  output: 'experiences.jsonl',
  advantageEstimator: 'group_norm',
  nSamplesPerPrompt: 2,
  maxNewTokens: 8,
}

async function experience(config: object | string, args: string[] = [], name = 'config.yaml') {
  rmSync(at('experiences.jsonl'), { force: true })
  writeFileSync(at(name), typeof config === 'string' ? config : stringify(config))
  const code = await main(['experience', '--config', at(name), ...args])
  const written = existsSync(at('experiences.jsonl'))
  const lines: Record<string, unknown>[] = written
    ? readFileSync(at('experiences.jsonl'), 'utf8')
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line) as Record<string, unknown>)
    : []
  return { code, lines, written }
}

describe('whetstone experience', () => {
  test('a config in YAML: experiences as lines of JSON, a summary, and lines that advantages reads again', async () => {
    const { code, lines } = await experience(base)
    expect(err).not.toMatch(/whetstone:/)
    expect(code).toBe(0)
    expect(lines).toHaveLength(6)
    for (const [i, line] of lines.entries()) {
      expect(line).toMatchObject({
        prompt_id: `${Math.floor(i / 2)}`,
        sample: i % 2,
        label: ['maths', 'chat', 'maths'][i >> 1],
      })
      const count = (line.response_ids as number[]).length
      for (const name of ['logprobs', 'ref_logprobs', 'entropies', 'kl', 'advantages', 'returns'])
        expect(line[name], name).toHaveLength(count)
    }
    for (const word of ['reward', 'KL', 'response length', 'groups', 'seconds', 'tokens/s', '6 experiences'])
      expect(err).toContain(word)
    const output = at('advantages.jsonl')
    const again = ['--estimator', 'group_norm', '--kl-coef', '0.01']
    expect(await main(['advantages', '--input', at('experiences.jsonl'), '--output', output, ...again])).toBe(0)
    const derived = readFileSync(output, 'utf8').trimEnd().split('\n')
    for (const [i, line] of derived.entries())
      expectClose((JSON.parse(line) as { advantages: number[] }).advantages, lines[i]!.advantages as number[])
    expect(await main(['reward', 'test', '--reward', at('reward.ts'), '--input', at('experiences.jsonl')])).toBe(0)
  })

  test('where no reward can be had, it ends with the error of the reward, exit code 1 and no file', async () => {
    writeFileSync(at('throws.ts'), "export default () => { throw new Error('out of rewards') }\n")
    const { code, written } = await experience({ ...base, rewards: 'throws.ts' })
    expect({ code, written }).toEqual({ code: 1, written: false })
    expect(err).toMatch(/no sample has a reward: all \d+ failed.*Error: out of rewards/)
  })

  test('where every sample is left out, it says why, with exit code 1 and no file', async () => {
    const { code, written } = await experience({ ...base, promptMaxLen: 1, promptTruncation: 'reject' })
    expect({ code, written }).toEqual({ code: 1, written: false })
    expect(err).toMatch(/no experience was made: every sample was skipped \(3 generation: prompt-too-long\)/)
  })

  test('a critic, a reward model and a recipe, from JSON', async () => {
    const rewards = {
      sources: { judge: { type: 'model', path: 'judge' }, level: { type: 'function', file: 'reward.ts' } },
      rewardRecipe: {
        maths: [['function', 'level', 1]],
        chat: [
          ['model', 'judge', 0.5],
          ['function', 'level', 0.5],
        ],
      },
    }
    writeFileSync(at('rewards.yaml'), stringify(rewards))
    const config = { ...base, critic: 'critic', rewards: 'rewards.yaml', advantageEstimator: 'gae' }
    const { code, lines } = await experience(JSON.stringify(config), [], 'config.json')
    expect(err).not.toMatch(/whetstone:/)
    expect(code).toBe(0)
    expect(lines.map(({ components }) => Object.keys(components as object))).toEqual([
      ...[['level'], ['level']],
      ...[
        ['judge', 'level'],
        ['judge', 'level'],
      ],
      ...[['level'], ['level']],
    ])
    expect(lines[0]!.values).toHaveLength((lines[0]!.response_ids as number[]).length)
  })

  test('a TypeScript config, --set, and batches', async () => {
    const module = `import type {} from 'node:fs'\nconst samples: number = 3\nexport default { ...${JSON.stringify(base)}, nSamplesPerPrompt: samples }\n`
    const { code, lines } = await experience(
      module,
      ['--set', 'rolloutBatchSize=2', '--set', 'maxNewTokens=4'],
      'config.ts',
    )
    expect(code).toBe(0)
    expect(lines).toHaveLength(9)
    expect(Math.max(...lines.map(line => (line.response_ids as number[]).length))).toBeLessThanOrEqual(4)
    expect(err).toContain('batch 1')
  })

  test('--dry-run checks, prints the options in force and makes nothing', async () => {
    const { code, written } = await experience(base, ['--dry-run', '--set', 'temperature=0.5'])
    expect(code).toBe(0)
    expect(written).toBe(false)
    expect(err).toContain('temperature: 0.5')
    expect(err).toContain('3 rows in')
  })

  test.each([
    [{ ...base, advantage_estimator: 'rloo' }, /no option "advantage_estimator"; did you mean advantageEstimator\?/],
    [{ ...base, model: undefined }, /model: missing; the actor: a Hugging Face model directory/],
    [{ ...base, data: 'none.jsonl' }, /none\.jsonl: there is no such file/],
    [{ ...base, rewards: 'none.ts' }, /none\.ts: there is no such file/],
    [{ ...base, device: 'gpu' }, /device: expected auto, cpu, cuda or cuda:N/],
    [{ ...base, advantageEstimator: 'gae' }, /gae needs a critic/],
    [{ ...base, nSamplesPerPrompt: 1 }, /needs at least 2/],
    [{ ...base, advantageEstimator: 'grop' }, /advantageEstimator/],
    [{ ...base, output: 'none/x.jsonl' }, /none\/x\.jsonl: its directory does not exist/],
    ['- a\n- b\n', /expected an object of options/],
  ])('wrong: %j', async (config, message) => {
    const clean = typeof config === 'string' ? config : JSON.parse(JSON.stringify(config))
    const { code, written } = await experience(clean, ['--dry-run'])
    expect(err).toMatch(message)
    expect(code).toBe(1)
    expect(written).toBe(false)
  })

  test('--config and --set as they should be', async () => {
    expect(await main(['experience'])).toBe(2)
    expect(err).toContain('--model: missing; the actor')
    expect((await experience(base, ['--set', 'temperature'])).code).toBe(2)
    expect(err).toContain('--set: expected key=value, got "temperature"')
  })
})

test('samples of a server', async () => {
  const opened = await openEngine(at('model'))
  const server = await ModelServer.start({ engine: opened.engine, tokenizer: opened.tokenizer, name: 'model', port: 0 })
  try {
    const generator = { type: 'vllm', urls: [`http://127.0.0.1:${server.port}`] }
    const { code, lines } = await experience({ ...base, generator })
    expect(code, err).toBe(0)
    expect(lines).toHaveLength(6)
    for (const { logprobs, engine_logprobs } of lines as { logprobs: number[]; engine_logprobs: { raw: number[] } }[])
      for (const [t, raw] of engine_logprobs.raw.entries()) expect(raw).toBeCloseTo(logprobs[t]!, 4)
  } finally {
    await server.close({ graceMs: 0 })
    await opened.close()
  }
})
