import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type RewardAnswer,
  RewardComputationEngine,
  type RewardEngineOptions,
  type RewardInput,
  type RewardOutcome,
  type RewardRecipe,
  type RewardSource,
  sampleReward,
} from '../../src/reward/index.js'
import { sample, samples } from '../support/reward-samples.js'

/** A source that counts what it was asked about. */
function counting(name: string, kind: RewardSource['kind'], value: (input: RewardInput) => RewardAnswer) {
  const asked: RewardInput[] = []
  const source: RewardSource = {
    name,
    kind,
    limits: { batchSize: 8, concurrency: 2, deadlineMs: 1_000, retries: 0 },
    score: async inputs => {
      asked.push(...inputs)
      return inputs.map(value)
    },
  }
  return { source, asked }
}

const rewardOf = (outcome: RewardOutcome) => (outcome.kind === 'failed' ? outcome.reason : outcome.reward)
const one = (name: string, value: number) => sampleReward(() => value, { name })

describe('weights', () => {
  it('sum the sources, and keep what each said', async () => {
    const engine = new RewardComputationEngine({
      sources: [one('a', 2), sampleReward(() => ({ reward: 3, metrics: { n: 4 } }), { name: 'b' })],
      weights: { a: 0.5, b: -1 },
    })
    const { outcomes, summary } = await engine.compute(samples(3))
    expect(outcomes[0]).toEqual({ kind: 'scored', reward: -2, components: { a: 2, b: 3 }, metrics: { 'b/n': 4 } })
    expect(summary.components.b).toMatchObject({ mean: 3, count: 3 })
  })

  it('of 0 leave a source alone', async () => {
    const a = counting('a', 'model', () => 1)
    const engine = new RewardComputationEngine({ sources: [a.source, one('b', 1)], weights: { a: 0, b: 1 } })
    expect((await engine.compute(samples(3))).outcomes.map(rewardOf)).toEqual([1, 1, 1])
    expect(a.asked).toEqual([])
  })

  it('one failed source fails the sample, whatever the others say', async () => {
    const broken = sampleReward(({ sample: i }) => (i === 1 ? Number.NaN : 5), { name: 'broken' })
    const engine = new RewardComputationEngine({ sources: [one('a', 1), broken], weights: { a: 1, broken: 1 } })
    const { outcomes } = await engine.compute(samples(3))
    expect(outcomes.map(rewardOf)).toEqual([6, 'non-finite', 6])
    expect(outcomes[1]).toMatchObject({ source: 'broken' })
  })

  it('a sum that overflows is a failure', async () => {
    const engine = new RewardComputationEngine({
      sources: [one('a', Number.MAX_VALUE), one('b', Number.MAX_VALUE)],
      weights: { a: 1, b: 1 },
    })
    expect((await engine.compute(samples(1))).outcomes[0]).toMatchObject({ reason: 'non-finite', source: 'a + b' })
  })
})

describe('recipes', () => {
  const recipe: RewardRecipe = {
    maths: [
      ['rule', 'exact', 0.9],
      ['rule', 'format', 0.1],
    ],
    chat: [
      ['model', 'quality', 1],
      ['remote', 'safety', 0.5],
      ['function', 'spare', 0],
    ],
  }
  const world = () => {
    const exact = counting('exact', 'rule', ({ response }) => (response === '4' ? 1 : 0))
    const quality = counting('quality', 'model', () => 2)
    const safety = counting('safety', 'remote', () => -1)
    const spare = counting('spare', 'function', () => 100)
    return { exact, quality, safety, spare, sources: [exact, quality, safety, spare].map(({ source }) => source) }
  }

  it('ask a source only for the samples that need it', async () => {
    const { exact, quality, safety, spare, sources } = world()
    const engine = new RewardComputationEngine({ sources, rewardRecipe: recipe })
    const inputs = samples(9, i => ({ label: i % 3 === 0 ? 'chat' : 'maths' }))
    const { outcomes } = await engine.compute(inputs)
    expect(outcomes.map(rewardOf)).toEqual([1.5, 0, 0, 1.5, 0.9, 0, 1.5, 0, 0])
    expect(exact.asked.map(input => input.sample)).toEqual([1, 2, 4, 5, 7, 8])
    expect(quality.asked.map(input => input.sample)).toEqual([0, 3, 6])
    expect(safety.asked.map(input => input.sample)).toEqual([0, 3, 6])
    expect(spare.asked).toEqual([])
    expect(outcomes[0]).toMatchObject({ components: { quality: 2, safety: -1 } })
    expect(outcomes[1]).toMatchObject({ components: { exact: 0, format: 0 } })
    expect(engine.counts.quality).toMatchObject({ calls: 1, samples: 3 })
  })

  it('have one for every label, or nothing is asked', async () => {
    const { exact, sources } = world()
    const engine = new RewardComputationEngine({ sources, rewardRecipe: recipe })
    await expect(engine.compute([sample('4', { label: 'maths' }), sample('4', { label: 'math' })])).rejects.toThrow(
      'no reward recipe for the label "math"; did you mean maths? (there are recipes for: maths, chat)',
    )
    await expect(engine.compute([sample('4')])).rejects.toThrow(/a sample has no label/)
    expect(exact.asked).toEqual([])
    expect(() => engine.checkLabels(['maths', 'toString'])).toThrow(/no reward recipe for the label "toString"/)
    expect(() => engine.checkLabels(['maths', 'chat'])).not.toThrow()
  })

  it.each<[string, RewardRecipe, RegExp]>([
    [
      'a name that is not there',
      { x: [['rule', 'exakt', 1]] },
      /no reward source "exakt"; did you mean exact\? \(there are: exact/,
    ],
    ['another kind', { x: [['model', 'exact', 1]] }, /"exact" is a rule; write \["rule", "exact", \.\.\.\]/],
    [
      'a name twice',
      {
        x: [
          ['rule', 'exact', 1],
          ['rule', 'exact', 2],
        ],
      },
      /"exact" is given twice; add the weights/,
    ],
    ['nothing but zeros', { x: [['rule', 'exact', 0]] }, /rewardRecipe\.x: every weight is 0/],
    ['an empty list', { x: [] }, /rewardRecipe\.x: expected at least one \[type, name, weight\]/],
    ['an unknown kind', { x: [['modell' as 'model', 'exact', 1]] }, /rewardRecipe\.x\.0/],
    ['a weight that is no number', { x: [['rule', 'exact', Number.NaN]] }, /rewardRecipe\.x\.0\.2/],
  ])('with %s are refused before the run', (_, rewardRecipe, message) => {
    expect(() => new RewardComputationEngine({ sources: world().sources, rewardRecipe })).toThrow(message)
  })
})

describe("LightRFT's aggregator", () => {
  it('gets scores, labels, queries, references and the label map; and gives metrics per sample or for all', async () => {
    const calls: unknown[][] = []
    const engine = new RewardComputationEngine({
      rewardModel: [modelOf(2), modelOf(3)],
      rewardFnLabelMap: { quality: 0, safety: 1 },
      rewardFn: (...args) => {
        calls.push(args)
        const [quality, safety] = args[0]
        return {
          rewards: quality!.map((score, i) => 0.6 * score + 0.4 * safety![i]!),
          metrics: { quality: quality!, mean: 7 },
        }
      },
    })
    const { outcomes } = await engine.compute([sample('a', { label: 'x', target: 'r' }), sample('b')])
    expect(calls).toHaveLength(1)
    expect(calls[0]!.slice(0, 5)).toEqual([
      [
        [2, 2],
        [3, 3],
      ],
      ['x', undefined],
      ['Q: a', 'Q: b'],
      ['r', undefined],
      { quality: 0, safety: 1 },
    ])
    expect(outcomes[0]).toEqual({
      kind: 'scored',
      reward: 2.4000000000000004,
      components: { quality: 2, safety: 3 },
      metrics: { quality: 2, mean: 7 },
    })
  })

  it('works with one model, and with none: rules only', async () => {
    const single = new RewardComputationEngine({
      rewardModel: modelOf(5),
      rewardFn: ([scores]) => ({ rewards: scores!.map(score => score * 2) }),
    })
    expect((await single.compute(samples(2))).outcomes.map(rewardOf)).toEqual([10, 10])
    const none = new RewardComputationEngine({
      rewardFn: (scores, _labels, _queries, _refs, _map, inputs) => {
        expect(scores).toEqual([])
        return { rewards: inputs.map(({ response }) => response.length) }
      },
    })
    expect((await none.compute([sample('abc')])).outcomes[0]).toMatchObject({ reward: 3, components: {} })
  })

  it('is not asked about samples whose sources failed, and its own failures are outcomes', async () => {
    const half = sampleReward(({ sample: i }) => (i === 0 ? Number.NaN : i), { name: 'half' })
    const seen: number[] = []
    const engine = new RewardComputationEngine({
      sources: [half],
      rewardFn: ([scores]) => {
        seen.push(...scores!)
        return { rewards: scores!.map(score => (score === 1 ? Number.POSITIVE_INFINITY : score)) }
      },
    })
    const { outcomes } = await engine.compute(samples(3))
    expect(outcomes.map(rewardOf)).toEqual(['non-finite', 'non-finite', 2])
    expect(outcomes.map(outcome => outcome.kind === 'failed' && outcome.source)).toEqual(['half', 'rewardFn', false])
    expect(seen).toEqual([1, 2])
  })

  it.each<[string, () => unknown, string]>([
    ['too few rewards', () => ({ rewards: [1] }), 'wrong-count'],
    ['nothing', () => undefined, 'wrong-type'],
    ['a bare list', () => [1, 2], 'wrong-type'],
    ['metrics of another length', () => ({ rewards: [1, 2], metrics: { m: [1] } }), 'wrong-count'],
    [
      'an exception',
      () => {
        throw new Error('no')
      },
      'threw',
    ],
  ])('that gives %s fails its samples', async (_, give, reason) => {
    const engine = new RewardComputationEngine({ rewardFn: give as never })
    expect((await engine.compute(samples(2))).outcomes.map(rewardOf)).toEqual([reason, reason])
  })

  it('sees NaN, not 0, for what a recipe did not ask for', async () => {
    const a = counting('a', 'model', () => 1)
    const engine = new RewardComputationEngine({
      sources: [a.source, one('b', 2)],
      rewardRecipe: {
        x: [['function', 'b', 1]],
        y: [
          ['model', 'a', 1],
          ['function', 'b', 1],
        ],
      },
      rewardFn: ([first, second]) => ({ rewards: second!.map((score, i) => score + (first![i]! || 0)) }),
    })
    const { outcomes } = await engine.compute(samples(2, i => ({ label: i === 0 ? 'x' : 'y' })))
    expect(outcomes.map(rewardOf)).toEqual([2, 3])
    expect(a.asked).toHaveLength(1)
  })
})

describe('streaming', () => {
  it('rewards samples as they arrive, those that came together in one call', async () => {
    const batches: number[] = []
    const source: RewardSource = {
      name: 's',
      kind: 'remote',
      limits: { batchSize: 4, concurrency: 1, deadlineMs: 1_000, retries: 0 },
      score: async inputs => {
        batches.push(inputs.length)
        await sleep(20)
        return inputs.map(({ response }) => Number(response))
      },
    }
    const engine = new RewardComputationEngine({ sources: [source] })
    async function* arriving() {
      const all = samples(11)
      yield* all.slice(0, 2)
      await sleep(5)
      yield* all.slice(2, 9)
      await sleep(100)
      yield* all.slice(9)
    }
    const seen: number[] = []
    for await (const { input, outcome } of engine.stream(arriving())) {
      expect(rewardOf(outcome)).toBe(input.sample)
      seen.push(input.sample)
    }
    expect(seen.sort((a, b) => a - b)).toEqual(samples(11).map((_, i) => i))
    expect(batches).toEqual([2, 4, 3, 2])
  })

  it('gives the first reward before the last sample is there', async () => {
    const engine = new RewardComputationEngine({ sources: [one('a', 1)] })
    let finish = () => {}
    const held = new Promise<void>(resolve => {
      finish = resolve
    })
    async function* arriving() {
      yield sample('first')
      await held
      yield sample('last')
    }
    const seen: string[] = []
    for await (const { input } of engine.stream(arriving())) {
      seen.push(input.response)
      finish()
    }
    expect(seen).toEqual(['first', 'last'])
  })

  it('ends with the error of what it reads from, of a label without a recipe, or of a stop', async () => {
    const engine = new RewardComputationEngine({ sources: [one('a', 1)] })
    async function* failing() {
      yield sample('x')
      throw new Error('generation failed')
    }
    await expect(drain(engine.stream(failing()))).rejects.toThrow('generation failed')
    const recipes = new RewardComputationEngine({ rewardRecipe: { x: [['rule', 'format', 1]] } })
    await expect(drain(recipes.stream([sample('x', { label: 'y' })]))).rejects.toThrow(/no reward recipe/)
    const strict = new RewardComputationEngine({ sources: [one('a', Number.NaN)], onRewardFailure: 'stop' })
    await expect(drain(strict.stream(samples(3)))).rejects.toThrow(/reward "a" failed on sample/)
  })

  it('is left early without a trace, and ends when aborted', async () => {
    let aborted = 0
    let started = 0
    let allStarted = () => {}
    const all = new Promise<void>(resolve => {
      allStarted = resolve
    })
    const hung: RewardSource = {
      name: 'h',
      kind: 'remote',
      limits: { batchSize: 1, concurrency: 4, deadlineMs: 60_000, retries: 0 },
      score: async ([input], { signal }) => {
        if (input!.sample > 0) signal.addEventListener('abort', () => aborted++)
        if (++started === 3) allStarted()
        if (input!.sample > 0) return new Promise(() => {})
        await all
        return [1]
      },
    }
    const engine = new RewardComputationEngine({ sources: [hung] })
    // Three samples, and then a generator that never yields again.
    let left = 0
    const arriving = samples(3)
    const next = () => {
      const value = arriving.shift()
      return value ? Promise.resolve({ done: false as const, value }) : new Promise<never>(() => {})
    }
    const end = async () => ({ done: true as const, value: left++ })
    const source = { [Symbol.asyncIterator]: () => ({ next, return: end }) }
    for await (const _ of engine.stream(source)) break
    expect(aborted).toBe(2)
    expect(left).toBe(1)
    const stop = new AbortController()
    setTimeout(() => stop.abort(new Error('enough')), 20)
    await expect(drain(engine.stream(samples(3), { signal: stop.signal }))).rejects.toThrow('enough')
    const idle = new AbortController()
    setTimeout(() => idle.abort(new Error('nothing came')), 20)
    const silent = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) }
    await expect(drain(engine.stream(silent, { signal: idle.signal }))).rejects.toThrow('nothing came')
  })
})

describe('options', () => {
  it.each<[string, RewardEngineOptions, RegExp]>([
    ['nothing', {}, /^no reward: give a source, rewardModel/],
    [
      'several sources and no way to combine them',
      { sources: [one('a', 1), one('b', 1)] },
      /2 reward sources \(a, b\) need weights, a rewardRecipe, or a rewardFn/,
    ],
    [
      'two of one name',
      { sources: [one('a', 1), one('a', 1)], weights: { a: 1 } },
      /two reward sources are called "a"/,
    ],
    [
      'a weight for nobody',
      { sources: [one('quality', 1)], weights: { qualty: 1 } },
      /no reward source "qualty"; did you mean quality\?/,
    ],
    ['no weight for somebody', { sources: [one('a', 1), one('b', 1)], weights: { a: 1 } }, /weights: missing for b/],
    ['no weight at all', { sources: [one('a', 1)], weights: { a: 0 } }, /every weight is 0/],
    [
      'weights and a recipe',
      { sources: [one('a', 1)], weights: { a: 1 }, rewardRecipe: { x: [['function', 'a', 1]] } },
      /give weights or rewardRecipe, not both/,
    ],
    [
      'a snake_case key',
      { reward_recipe: {} } as RewardEngineOptions,
      /there is no option "reward_recipe"; did you mean rewardRecipe\?/,
    ],
    ['a misspelt key', { sourcs: [] } as RewardEngineOptions, /there is no option "sourcs"; did you mean sources\?/],
    [
      'something that is no source',
      { sources: [(() => 1) as never] },
      /sources\.0: expected a reward source, such as sampleReward/,
    ],
    ['a word for onRewardFailure', { sources: [one('a', 1)], onRewardFailure: 'zero' as 'drop' }, /onRewardFailure/],
    [
      'a label map of another size',
      { sources: [one('a', 1)], rewardFn: () => ({ rewards: [] }), rewardFnLabelMap: { a: 0, b: 1 } },
      /2 names for 1 reward sources/,
    ],
    [
      'a label map with a place twice',
      { rewardModel: [modelOf(1), modelOf(2)], rewardFn: () => ({ rewards: [] }), rewardFnLabelMap: { a: 0, b: 0 } },
      /one name for each index from 0 to 1/,
    ],
    [
      'a label map that calls a source otherwise',
      { sources: [one('a', 1)], rewardFn: () => ({ rewards: [] }), rewardFnLabelMap: { b: 0 } },
      /entry 0 is "b", but the source is called "a"/,
    ],
  ])('%s is an error before anything runs', (_, options, message) => {
    expect(() => new RewardComputationEngine(options)).toThrow(message)
  })

  it('a single URL is one server, not one per character; local, remote and custom go together by name', () => {
    const engine = new RewardComputationEngine({
      rewardModel: { quality: modelOf(1) },
      remoteRmUrl: 'http://127.0.0.1:9/score',
      customRewardFunc: queries => queries.map(() => 1),
      weights: { quality: 1, remoteRm: 1, customRewardFunc: 1 },
    })
    expect(Object.keys(engine.counts)).toEqual(['quality', 'remoteRm', 'customRewardFunc'])
    const several = new RewardComputationEngine({
      remoteRmUrl: ['http://127.0.0.1:9/a', 'grpc://127.0.0.1:9/b'],
      weights: { remoteRm0: 1, remoteRm1: 1 },
    })
    expect(Object.keys(several.counts)).toEqual(['remoteRm0', 'remoteRm1'])
  })
})

it('the reward of a sample does not depend on which others are there, nor on sizes of batches', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ label: fc.constantFrom('x', 'y'), text: fc.string() }), { maxLength: 25 }),
      fc.integer({ min: 1, max: 9 }),
      async (rows, batchSize) => {
        const source = (name: string, scale: number): RewardSource => ({
          name,
          kind: 'function',
          limits: { batchSize, concurrency: 3, deadlineMs: 5_000, retries: 0 },
          score: async inputs => inputs.map(({ response }) => scale * response.length),
        })
        const engine = new RewardComputationEngine({
          sources: [source('a', 1), source('b', 0.25)],
          rewardRecipe: {
            x: [['function', 'a', 0.5]],
            y: [
              ['function', 'a', 1],
              ['function', 'b', 2],
            ],
          },
        })
        const inputs = rows.map(({ label, text }) => sample(text, { label }))
        const { outcomes } = await engine.compute(inputs)
        expect(outcomes.map(rewardOf)).toEqual(rows.map(({ label, text }) => (label === 'x' ? 0.5 : 1.5) * text.length))
      },
    ),
    { numRuns: 30 },
  )
})

async function drain(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of stream);
}

function modelOf(score: number) {
  const tokenizer = { dir: 'none', encode: async () => Int32Array.of(1) } as never
  return { model: { score: async (sequences: readonly unknown[]) => sequences.map(() => ({ score })) }, tokenizer }
}
