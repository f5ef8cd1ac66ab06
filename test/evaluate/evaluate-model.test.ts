import { appendFileSync, cpSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  corpusBleu,
  type EvaluationOptions,
  evaluateModel,
  evaluationTable,
  meanRougeL,
  winRate,
} from '../../src/evaluate/index.js'
import { LocalModel } from '../../src/model/index.js'
import type { RewardInput } from '../../src/reward/index.js'
import { sampleReward } from '../../src/reward/index.js'
import { silentReport } from '../../src/train/index.js'
import { fresh, jsonl, written } from '../support/files.js'
import { expectHeld, heldMemory } from '../support/held-memory.js'
import { modelDirectory, rewardModelDirectory } from '../support/tiny-model.js'
import { tokenizer } from '../support/tokenizers.js'

let model: string
let other: string
let rewardModel: string
beforeAll(async () => {
  ;[model, other] = await Promise.all([modelDirectory(1), modelDirectory(2)])
  rewardModel = await rewardModelDirectory(other)
})

const rows = Array.from({ length: 6 }, (_, i) => ({ prompt: `What is ${i} and ${i}?`, completion: `It is ${2 * i}.` }))
const data = jsonl(rows)
/** 1 for a response with an a in it, else the share of vowels, halved. */
const reward = written(
  'reward.mjs',
  `export default ({ response }) => response.includes('a') ? 1 : [...response].filter(c => 'eiou'.includes(c)).length / 2 / (1 + response.length)\n`,
)
const quickly = { data, device: 'cpu', maxNewTokens: 10 } as const
const run = (options: Partial<EvaluationOptions> = {}) => evaluateModel({ model, ...quickly, ...options })

describe('an evaluation', () => {
  test('measures what data and reward allow, and says why it does not measure the rest', async () => {
    const { evaluation, answers } = await run()
    const { perplexity, answers: counts, bleu, rougeL, rewards, accuracy } = evaluation.model
    expect(perplexity).toMatchObject({ rows: 6, truncated: 0 })
    expect(counts).toMatchObject({ prompts: 6, answered: 6, unanswered: {}, overlong: 0 })
    expect([rewards, accuracy, evaluation.winRate]).toEqual([undefined, undefined, undefined])
    expect(evaluation.leftOut).toEqual({
      reward: 'no reward is given',
      accuracy: 'no reward is given',
      winRate: 'no reward is given',
    })
    const compared = answers.model.map(({ response, targets }) => ({ hypothesis: response, references: targets }))
    expect(compared.map(({ references }) => references)).toEqual(rows.map(({ completion }) => [completion]))
    expect(bleu).toEqual({ ...corpusBleu(compared, { tokenizer: '13a' }), texts: 6 })
    expect(rougeL).toEqual({ ...meanRougeL(compared), texts: 6 })
    expect(evaluation.settings).toMatchObject({ samples: 1, temperature: 0, seed: 0, maxNewTokens: 10 })
  })

  test('perplexity is that of the tokens of the assistant, computed here once more', async () => {
    const { evaluation } = await run({ metrics: ['perplexity'] })
    const scorer = await LocalModel.load(model, { role: 'language' })
    let [sum, tokens] = [0, 0]
    for (const { prompt, completion } of rows) {
      const said = await tokenizer.encodeAnswer(
        [{ role: 'user', content: prompt }],
        [{ role: 'assistant', content: completion }],
      )
      const [{ logprobs } = { logprobs: [] }] = await scorer.score(
        [Int32Array.from([...said.prompt, ...said.answer])],
        { from: said.prompt.length },
      )
      for (const one of logprobs) sum += one
      tokens += logprobs.length
    }
    scorer.dispose()
    expect(evaluation.model.perplexity!.loss).toBeCloseTo(-sum / tokens, 5)
    expect(evaluation.model.perplexity!.value).toBeCloseTo(Math.exp(-sum / tokens), 1)
    expect(evaluation.model.answers).toBeUndefined()
  })

  test('is the same for the same seed and another for another', async () => {
    const options = { reward, reference: other, samples: 3 }
    const [first, second] = [await run(options), await run(options)]
    expect(second).toEqual(first)
    const third = await run({ ...options, seed: 1 })
    expect(third.answers.model).not.toEqual(first.answers.model)
  })

  test('of some rows has the answers of the whole for them', async () => {
    const whole = await run({ samples: 2 })
    const some = await run({ samples: 2, limit: 2 })
    expect(some.evaluation.model.perplexity!.rows).toBe(2)
    expect(some.answers.model).toEqual(whole.answers.model.slice(0, 4))
  })

  test('rewards, accuracy, pass@k and win rate are those of the answers', async () => {
    const { evaluation, answers } = await run({ reward, reference: other, samples: 4 })
    const of = (records: typeof answers.model) => records.map(one => one.reward!)
    const rewards = of(answers.model)
    expect(rewards).toHaveLength(24)
    const mean = rewards.reduce((a, b) => a + b) / 24
    expect(evaluation.model.rewards).toMatchObject({ scored: 24, failed: 0 })
    expect(evaluation.model.rewards!.reward!.mean).toBeCloseTo(mean, 12)
    for (const { response, reward: found } of answers.model) if (response.includes('a')) expect(found).toBe(1)
    const groups = (list: number[]) => Array.from({ length: 6 }, (_, i) => list.slice(4 * i, 4 * i + 4))
    const right = groups(rewards).map(list => list.filter(one => one >= 1).length)
    const accuracy = evaluation.model.accuracy!
    expect(accuracy.value).toBeCloseTo(right.reduce((a, b) => a + b) / 24, 12)
    expect(accuracy.passAt.map(({ k }) => k)).toEqual([1, 2, 4])
    expect(accuracy.passAt.at(-1)!.value).toBeCloseTo(right.filter(one => one > 0).length / 6, 12)
    // Of 4 answers, the pairs that are wrong both times.
    const pass2 = right.map(one => 1 - ((4 - one) * (3 - one)) / 12)
    expect(accuracy.passAt[1]!.value).toBeCloseTo(pass2.reduce((a, b) => a + b) / 6, 12)
    const theirs = groups(of(answers.reference))
    const duels = groups(rewards).map((list, i) => ({ rewards: list, otherRewards: theirs[i]! }))
    expect(evaluation.winRate).toEqual(winRate(duels))
    expect(evaluation.reference!.perplexity!.value).not.toBe(evaluation.model.perplexity!.value)
  })

  test('of a model and itself is a tie on every prompt', async () => {
    const { evaluation } = await run({ reward: rewardModel, reference: model, metrics: ['winRate'] })
    expect(evaluation.winRate).toMatchObject({ rate: 0.5, prompts: 6, wins: 0, ties: 6, losses: 0 })
  })

  test("a reward model's scores are its own, and are neither right nor wrong", async () => {
    const { evaluation, answers } = await run({ reward: rewardModel, limit: 3 })
    expect(evaluation.leftOut.accuracy).toBe(
      'scores of a reward model are neither correct nor wrong; set correctAt to the lowest correct score',
    )
    const judge = await LocalModel.load(rewardModel, { role: 'reward' })
    for (const [i, { prompt, response }] of answers.model.entries()) {
      expect(prompt).toContain(rows[i]!.prompt)
      const ids = await tokenizer.encodeChat([{ role: 'user', content: rows[i]!.prompt }], {
        addGenerationPrompt: true,
      })
      const said = await tokenizer.encode(response, { addSpecialTokens: false })
      // Where the answer was cut off its ids are those of its text.
      if (answers.model[i]!.tokens !== said.length) continue
      const [{ score } = { score: 0 }] = await judge.score([Int32Array.from([...ids, ...said])])
      expect(answers.model[i]!.reward).toBeCloseTo(score, 4)
    }
    judge.dispose()
    const above = await run({ reward: rewardModel, limit: 3, correctAt: -1e9 })
    expect(above.evaluation.model.accuracy).toMatchObject({ value: 1, correctAt: -1e9, prompts: 3 })
  })

  test('rewards that failed are counted, and are not 0', async () => {
    const odd = sampleReward(
      ({ sample, promptId }: RewardInput) => {
        if (sample === 1) throw new Error('no opinion')
        return promptId.length > 0 ? 1 : 0
      },
      { name: 'odd' },
    )
    const { evaluation, answers } = await run({ reward: { sources: [odd] }, samples: 2 })
    const { rewards, accuracy } = evaluation.model
    expect(rewards).toMatchObject({ scored: 6, failed: 6, failuresByReason: { threw: 6 } })
    expect(rewards!.reward!.mean).toBe(1)
    expect(accuracy).toMatchObject({ value: 1, prompts: 6, missing: 0 })
    // No prompt has two answers with a reward, so that there is no pass@2.
    expect(accuracy!.passAt).toEqual([{ k: 1, value: 1, prompts: 6 }])
    const failed = answers.model.filter(one => one.failure)
    expect(failed.map(one => [one.sample, one.reward])).toEqual(Array(6).fill([1, undefined]))
    const never = sampleReward(() => Number.NaN, { name: 'never' })
    const none = await run({ reward: { sources: [never] }, reference: other })
    expect(none.evaluation.model.rewards).toMatchObject({ scored: 0, failed: 6, reward: undefined })
    expect(none.evaluation.model.accuracy).toMatchObject({ value: undefined, interval: undefined, missing: 6 })
    expect(none.evaluation.winRate).toBeUndefined()
  })

  test('an adapter takes part', async () => {
    const trained = await LocalModel.load(model, {
      role: 'language',
      adapter: { rank: 2, alpha: 4, dropout: 0, targets: ['q_proj', 'v_proj'], seed: 1 },
    })
    const ids = Int32Array.of(3, 4, 5, 6, 7, 8)
    for (let step = 0; step < 3; step++) {
      await trained.forwardBackward([ids], outputs => outputs.map(one => ({ logprobs: one.logprobs.map(() => -1) })))
      await trained.step({ lr: 0.1 })
    }
    const adapter = fresh('adapter')
    await trained.export(adapter, { what: 'adapter' })
    trained.dispose()
    const [plain, adapted] = [await run({ limit: 2 }), await run({ limit: 2, adapter })]
    expect(adapted.evaluation.model.perplexity!.loss).not.toBeCloseTo(plain.evaluation.model.perplexity!.loss, 3)
    expect(adapted.answers.model.map(one => one.response)).not.toEqual(plain.answers.model.map(one => one.response))
  })

  test('models of different tokenizers are judged by text', async () => {
    const copy = fresh('copy')
    cpSync(model, copy, { recursive: true })
    // The same tokenizer in other bytes.
    appendFileSync(join(copy, 'tokenizer.json'), '\n')
    const { evaluation } = await run({ reward: rewardModel, reference: copy, limit: 3 })
    expect(evaluation.winRate).toMatchObject({ rate: 0.5, ties: 3 })
    const shared = await run({ reward: rewardModel, reference: model, limit: 3 })
    // What the judge's own template renders is not what was sampled.
    expect(evaluation.model.rewards!.reward!.mean).not.toBe(shared.evaluation.model.rewards!.reward!.mean)
  })

  test("Chinese texts are compared by sacrebleu's tokenizer for them", async () => {
    const chinese = jsonl([{ prompt: '你好', reference: '你好吗？' }])
    const { evaluation, answers } = await run({ data: chinese })
    const [{ response, targets }] = answers.model as [(typeof answers.model)[number]]
    const compared = [{ hypothesis: response, references: targets }]
    expect(evaluation.model.bleu).toEqual({ ...corpusBleu(compared, { tokenizer: 'zh' }), texts: 1 })
    expect(evaluation.model.bleu!.referenceLength).toBe(4)
  })

  test('perplexity alone asks for no room to answer', async () => {
    const { evaluation } = await run({ metrics: ['perplexity'], maxNewTokens: 1000 })
    expect(evaluation.model.perplexity!.rows).toBe(6)
  })

  test('the table is for people: names cannot command the terminal', async () => {
    const { evaluation } = await run({ data: jsonl([{ text: 'Once.', '\x1b[2J': 1 }]) })
    const table = evaluationTable(evaluation)
    expect(table).toContain('not measured: bleu:')
    expect(table).toContain('?[2J')
    expect(table).not.toContain('\x1b')
  })

  test('conversations are prompts up to the answer, and rows of text have a perplexity alone', async () => {
    const conversation = jsonl([
      {
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: 'Hello you.' },
        ],
      },
    ])
    const talk = await run({ data: conversation })
    expect(talk.answers.model[0]!.targets).toEqual(['Hello you.'])
    expect(talk.answers.model[0]!.prompt).not.toContain('Hello you.')
    expect(talk.evaluation.model.perplexity!.rows).toBe(1)
    const text = await run({ data: jsonl([{ text: 'Once upon a time.' }]) })
    expect(text.evaluation.model.answers).toBeUndefined()
    expect(text.evaluation.leftOut.bleu).toContain('no prompt')
    const prompts = await run({ data: jsonl([{ prompt: 'Hi', reference: ['a', 'b'] }]) })
    expect(prompts.evaluation.leftOut.perplexity).toContain('no conversations')
    expect(prompts.answers.model[0]!.targets).toEqual(['a', 'b'])
  })

  test('prompts that are too long for the model are counted', async () => {
    const long = jsonl([
      { prompt: 'Hi', reference: 'a' },
      { prompt: 'word '.repeat(200), reference: 'b' },
    ])
    const { evaluation } = await run({ data: long })
    expect(evaluation.model.answers).toMatchObject({ prompts: 1, overlong: 1 })
  })

  test.each(['loading the model', 'perplexity', 'answering', 'rewards'])(
    'that is stopped while %s ends with the reason and leaves no model behind',
    async stage => {
      const before = await heldMemory()
      const stop = new AbortController()
      const at = (label: string) => () => {
        if (label === stage) stop.abort(new Error('enough'))
      }
      const report = { ...silentReport, transfer: (label: string) => ({ at: at(label), end() {} }) }
      const slow = sampleReward(() => new Promise<number>(resolve => setTimeout(resolve, 5, 1)), { name: 'slow' })
      const options = { samples: 60, reward: { sources: [slow] }, report, signal: stop.signal }
      await expect(run(options)).rejects.toThrow('enough')
      await expectHeld(before)
    },
  )
})

describe('what is wrong is said before a model is loaded', () => {
  const noLoading = {
    ...silentReport,
    transfer: (label: string) => {
      throw new Error(`${label} has begun`)
    },
  }
  const refused = (options: Partial<EvaluationOptions>) => expect(run({ ...options, report: noLoading })).rejects
  const wrong: [string, Partial<EvaluationOptions> & Record<string, unknown>, RegExp][] = [
    ['no data', { data: 'nowhere.jsonl' }, /nowhere\.jsonl/],
    ['no reward file', { reward: 'nowhere.ts' }, /reward: nowhere\.ts: there is no such file/],
    ['no reference', { reference: 'nowhere' }, /reference: .*nowhere/],
    ['too many tokens', { maxNewTokens: 128 }, /maxNewTokens: 128 leaves no room for a prompt in a context of 128/],
    [
      'samples alike',
      { samples: 2, temperature: 0 },
      /temperature: with temperature 0 all samples of a prompt are equal/,
    ],
    ['a misspelt option', { max_new_tokens: 3 }, /there is no option "max_new_tokens"; did you mean maxNewTokens\?/],
    ['no adapter', { adapter: 'nowhere' }, /adapter: .*nowhere/],
    ['no such device', { device: 'cuda:99' }, /device: there is no cuda:99/],
    [
      'a metric without its reward',
      { metrics: ['accuracy'] },
      /metrics: accuracy cannot be measured: no reward is given/,
    ],
    [
      'a win rate without a reference',
      { metrics: ['winRate'], reward },
      /winRate cannot be measured: no reference model is given/,
    ],
  ]
  test.each(wrong)('%s', async (_, options, message) => {
    await refused(options).toThrow(message)
  })

  test('a language model is no judge, and a reward model gives no answers', async () => {
    await refused({ reward: other }).toThrow(
      /reward: .* is a language model; expected a reward model \(with a score head\)/,
    )
    await refused({ model: rewardModel }).toThrow(
      /model: .* is a reward model and has no logits; expected a language model/,
    )
  })

  test('bad rows are listed, and rows for nothing at all are an error', async () => {
    const bad = written('bad.jsonl', `${JSON.stringify(rows[0])}\n{"prompt":\n${JSON.stringify({ other: 1 })}\n`)
    await refused({ data: bad }).toThrow(/bad\.jsonl:2: not JSON/)
    const { evaluation } = await run({ data: bad, maxBadRows: 2 })
    expect(evaluation.model.answers!.prompts).toBe(1)
    await refused({ data: jsonl([{ other: 1 }]) }).toThrow(
      /rows\.jsonl:1: no prompt: .*\nFix them.*\nAs conversations: .*:1: no conversations: /,
    )
  })
})
