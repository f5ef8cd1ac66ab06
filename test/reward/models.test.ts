import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import {
  decodeRewardInput,
  modelReward,
  RewardComputationEngine,
  type RewardInput,
  type RewardOutcome,
} from '../../src/reward/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { answered } from '../support/answered.js'
import { temporaryDirectory } from '../support/files.js'
import { sample, samples } from '../support/reward-samples.js'

const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url))
const folder = temporaryDirectory()

let policy: Tokenizer
let same: Tokenizer
let other: Tokenizer
beforeAll(async () => {
  for (const name of ['same', 'other']) cpSync(join(fixtures, 'tokenizer'), join(folder, name), { recursive: true })
  const path = join(folder, 'other/tokenizer.json')
  writeFileSync(path, `${readFileSync(path, 'utf8')}\n`)
  writeFileSync(
    join(folder, 'other/chat_template.jinja'),
    '{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}{% if add_generation_prompt %}>{% endif %}',
  )
  policy = await Tokenizer.load(join(fixtures, 'tokenizer'))
  same = await Tokenizer.load(join(folder, 'same'))
  other = await Tokenizer.load(join(folder, 'other'))
})

/** A model whose score is the sum of the ids, and that remembers what it was given. */
function scorer(odd: (ids: Int32Array) => number | undefined = () => undefined) {
  const calls: Int32Array[][] = []
  return {
    calls,
    score: async (sequences: readonly Int32Array[]) => {
      calls.push([...sequences])
      return sequences.map(ids => ({ score: odd(ids) ?? ids.reduce((sum, id) => sum + id, 0) }))
    },
  }
}
const rewardOf = (outcome: RewardOutcome) => (outcome.kind === 'failed' ? outcome.reason : outcome.reward)
const ids = (...list: number[]) => Int32Array.from(list)

describe('what a reward sees', () => {
  it('is decoded from the ids: with special tokens, and without', async () => {
    const messages = [{ role: 'user', content: 'How many?' }]
    const promptIds = await policy.encodeChat(messages, { addGenerationPrompt: true })
    const responseIds = await policy.encode('Four.<|im_end|>', { addSpecialTokens: false })
    const [row, promptId] = [{ a: 1 }, 'p']
    const sequence = answered(promptIds, responseIds, { row, promptId })
    const known = { messages, sequence, finishReason: 'stop', sample: 2 } as const
    const input = await decodeRewardInput(policy, known)
    const promptRaw = policy.renderChat(messages, { addGenerationPrompt: true })
    expect(input).toEqual({
      ...known,
      row,
      promptId,
      promptRaw,
      prompt: promptRaw.replace(/<\|im_(start|end)\|>/g, ''),
      response: 'Four.',
      answer: 'Four.',
      responseRaw: 'Four.<|im_end|>',
      query: `${promptRaw}Four.<|im_end|>`,
    })
  })

  it("is what the tokenizer's library decodes, whatever was sampled", async () => {
    const known = { finishReason: 'length', sample: 0 } as const
    // Special tokens, bytes that are no character by themselves, and ids that no token has.
    const sampled = fc
      .array(fc.integer({ min: 0, max: policy.vocabSize + 3 }), { maxLength: 24 })
      .map(list => ids(...list))
    const library = { decode: policy.decode.bind(policy), byteLevel: undefined }
    const decoded = async (promptIds: Int32Array, responseIds: Int32Array) => {
      const input = { ...known, sequence: answered(promptIds, responseIds) }
      expect(await decodeRewardInput(policy, input)).toEqual(await decodeRewardInput(library, input))
    }
    expect(policy.byteLevel).toBeDefined()
    await fc.assert(fc.asyncProperty(sampled, sampled, decoded), { numRuns: 300 })
    const [first, ...rest] = await policy.encode('𓀀', { addSpecialTokens: false })
    await decoded(ids(first!), ids(...rest))
  })
})

describe('a local reward model', () => {
  const chat: RewardInput = sample('Four.', {
    messages: [{ role: 'user', content: 'How many?' }],
    sequence: answered(ids(5, 6, 7), ids(8, 9)),
  })

  it('gets the exact ids where its tokenizer.json is the same, and its own rendering where it is not', async () => {
    for (const tokenizer of [policy, same]) {
      const model = scorer()
      const source = modelReward({ name: 'rm', model, tokenizer, policyTokenizer: policy })
      const { outcomes } = await new RewardComputationEngine({ sources: [source] }).compute([chat])
      expect(model.calls).toEqual([[ids(5, 6, 7, 8, 9)]])
      expect(outcomes.map(rewardOf)).toEqual([35])
    }
    const rendered = await other.encode('[user] How many?\n[assistant] Four.\n', { addSpecialTokens: false })
    for (const policyTokenizer of [policy, undefined]) {
      const model = scorer()
      const engine = new RewardComputationEngine({
        rewardModel: { model, tokenizer: other },
        ...(policyTokenizer ? { tokenizer: policyTokenizer } : {}),
      })
      await engine.compute([chat])
      expect(model.calls.flat().map(one => [...one])).toEqual([[...rendered]])
    }
  })

  it('reads a prompt that is no conversation as text, and saved samples without ids too', async () => {
    const model = scorer()
    const source = modelReward({ name: 'rm', model, tokenizer: policy, policyTokenizer: policy })
    await new RewardComputationEngine({ sources: [source] }).compute([sample('Four.')])
    expect([...model.calls[0]![0]!]).toEqual([...(await policy.encode('Q: Four.'))])
  })

  it('gets batches of so many tokens, of similar lengths, and answers in order', async () => {
    const model = scorer()
    const source = modelReward({ name: 'rm', model, tokenizer: policy, policyTokenizer: policy, batchTokens: 10 })
    const lengths = [9, 2, 12, 3, 5, 2, 1]
    const inputs = lengths.map(length => sample('x', { sequence: answered(new Int32Array(length).fill(1), ids()) }))
    const { outcomes } = await new RewardComputationEngine({ sources: [source] }).compute(inputs)
    expect(outcomes.map(rewardOf)).toEqual(lengths)
    expect(model.calls.map(call => call.map(one => one.length))).toEqual([[1, 2, 2, 3], [5], [9], [12]])
  })

  it('a sequence too long, or empty, fails its sample alone', async () => {
    const source = modelReward({
      name: 'rm',
      model: { ...scorer(), maxLength: 4 },
      tokenizer: policy,
      policyTokenizer: policy,
    })
    const inputs = [4, 5].map(length => sample('x', { sequence: answered(new Int32Array(length), ids()) }))
    const empty = { ...sample(''), prompt: '' }
    const { outcomes } = await new RewardComputationEngine({ sources: [source] }).compute([...inputs, empty])
    expect(outcomes.map(rewardOf)).toEqual([0, 'input', 'input'])
    expect(outcomes[1]).toMatchObject({
      message: expect.stringMatching(/5 tokens, and the reward model takes at most 4/),
    })
  })

  it('messages its template will not have fail their sample alone', async () => {
    const model = scorer()
    const source = modelReward({ name: 'rm', model, tokenizer: other })
    const wrong = { ...chat, messages: [{ role: '', content: 'x' }] }
    const { outcomes } = await new RewardComputationEngine({ sources: [source] }).compute([wrong, chat])
    expect(outcomes[0]).toMatchObject({ reason: 'input', message: expect.stringMatching(/messages\[0\]\.role/) })
    expect(outcomes[1]).toMatchObject({ kind: 'scored' })
  })

  it('a score that is not finite fails its sample alone, also where the model refuses the batch for it', async () => {
    const inputs = [1, 2, 3].map(id => sample('x', { sequence: answered(ids(id), ids(0)) }))
    const nan = scorer(sequence => (sequence[0] === 2 ? Number.NaN : undefined))
    const refusing = {
      score: async (sequences: readonly Int32Array[]) => {
        const sequence = sequences.findIndex(one => one[0] === 2)
        if (sequence >= 0) throw Object.assign(new Error('not finite'), { name: 'NonFiniteError', sequence })
        return scorer().score(sequences)
      },
    }
    for (const model of [nan, refusing]) {
      const source = modelReward({ name: 'rm', model, tokenizer: policy, policyTokenizer: policy })
      const { outcomes } = await new RewardComputationEngine({ sources: [source] }).compute(inputs)
      expect(outcomes.map(rewardOf)).toEqual([1, 'non-finite', 3])
    }
  })

  it('that throws, or gives too few scores, fails the samples it was asked about', async () => {
    const few = { score: async () => [] }
    const broken = { score: () => Promise.reject(new Error('out of memory')) }
    for (const [model, reason] of [
      [few, 'wrong-count'],
      [broken, 'threw'],
    ] as const) {
      const source = modelReward({ name: 'rm', model, tokenizer: policy })
      const { outcomes } = await new RewardComputationEngine({ sources: [source] }).compute(samples(2))
      expect(outcomes.map(rewardOf)).toEqual([reason, reason])
    }
  })

  it('over libtorch gives the scores transformers gives, whatever the batches', async () => {
    const directory = join(fixtures, 'models/qwen2-reward')
    const golden = JSON.parse(readFileSync(join(directory, 'case.json'), 'utf8')) as {
      sequences: number[][]
      scores: number[]
    }
    const model = await LocalModel.load(directory, { role: 'reward' })
    for (const batchTokens of [1, 32_768]) {
      const source = modelReward({ name: 'rm', model, tokenizer: policy, policyTokenizer: policy, batchTokens })
      const inputs = golden.sequences.map(list =>
        sample('x', { sequence: answered(ids(...list.slice(0, 2)), ids(...list.slice(2))) }),
      )
      const { outcomes } = await new RewardComputationEngine({ sources: [source] }).compute(inputs)
      for (const [i, outcome] of outcomes.entries()) expect(rewardOf(outcome)).toBeCloseTo(golden.scores[i]!, 5)
    }
    model.dispose()
  })
})
