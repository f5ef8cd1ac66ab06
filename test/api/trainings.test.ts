/** Trainings from code: live things in place of files, events beside the result, runs that are resumed and replayed as any. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { dpo, grpo, LocalModel, ppo, type RunEvent, rewardModel, rl, sft, Tokenizer } from '../../src/index.js'
import { LocalEngine } from '../../src/rollout/index.js'
import { Run } from '../../src/run/index.js'
import { replayRl, replaySupervised } from '../../src/train/index.js'
import { atEnd } from '../support/at-end.js'
import { fresh, written } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'
import { tokenizer } from '../support/tokenizers.js'

const model = await modelDirectory(1)
const rows = Array.from({ length: 6 }, (_, i) => ({ prompt: `Question ${i}:`, letter: 'aeiou'[i % 5]! }))
const options = { chatTemplate: 'none', device: 'cpu', optimizer: { lr: 1e-3 } } as const
const rollouts = { ...options, iterations: 3, rolloutBatchSize: 2, nSamplesPerPrompt: 4, maxNewTokens: 8, saveSteps: 1 }
const letters = (text: string, letter: string): number =>
  [...text].filter(one => one === letter).length / Math.max(8, text.length)

async function liveModel(directory = model): Promise<LocalModel<'language'>> {
  const live = await LocalModel.load(directory, { role: 'language', device: 'cpu' })
  atEnd(() => live.dispose())
  return live
}
const weights = (directory: string): Buffer => readFileSync(join(directory, 'final_model', 'model.safetensors'))

async function eventsOf(run: AsyncIterable<RunEvent>): Promise<RunEvent[]> {
  const events: RunEvent[] = []
  for await (const event of run) events.push(event)
  return events
}

test('a function rewards rows: they are the same run as files are, and the command replays it', async () => {
  const output = fresh('grpo')
  const run = grpo({
    ...rollouts,
    model,
    data: rows,
    output,
    rewards: ({ response, row }) => letters(response, row.letter),
  })
  const { outcome, step, metrics, directory, models } = await run
  expect({ outcome, step, directory }).toEqual({ outcome: 'finished', step: 3, directory: output })
  expect(metrics['reward/mean']).toBeTypeOf('number')
  expect(models).toEqual({ final: join(output, 'final_model'), best: join(output, 'best_model') })
  expect(
    readFileSync(join(output, 'data', 'data.jsonl'), 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line)),
  ).toEqual(rows)
  expect(readFileSync(join(output, 'data', 'rewards.txt'), 'utf8')).toContain('letters(response, row.letter)')
  expect(await replayRl(output)).toMatchObject({ iterations: 3, mismatches: [], notCompared: [] })

  // The same from files.
  const files = fresh('files')
  const reward = written(
    'reward.mjs',
    'export default ({ response, row }) => [...response].filter(one => one === row.letter).length / Math.max(8, response.length)\n',
  )
  await rl({
    ...rollouts,
    algorithm: 'grpo',
    model,
    data: join(output, 'data', 'data.jsonl'),
    rewards: reward,
    output: files,
  })
  expect(weights(files).equals(weights(output))).toBe(true)
})

test('rows may be a list, an iterable or an async iterable', async () => {
  function* made() {
    for (const { prompt } of rows) yield { prompt, completion: prompt }
  }
  async function* slowly() {
    for (const row of made()) {
      await setImmediate()
      yield row
    }
  }
  const supervised = { ...options, model, batchSize: 2, validationData: [...made()].slice(0, 2) }
  const runs = [[...made()], made(), slowly(), new Set(made())].map(async data => {
    const { directory } = await sft({ ...supervised, data, output: fresh('sft') })
    expect(await replaySupervised(directory)).toMatchObject({ batches: 3, mismatches: [], notCompared: [] })
    return weights(directory)
  })
  const [first, ...others] = await Promise.all(runs)
  for (const other of others) expect(other.equals(first!)).toBe(true)
})

test.each([
  [{ prompt: 'a', score: Number.NaN }, 'sft: data: row 2, field score: JSON cannot represent NaN'],
  [
    { prompt: 'a', tags: ['x', { when: new Date(0) }] },
    'sft: data: row 2, field tags[1].when: JSON cannot represent an object of class Date',
  ],
  [{ prompt: 'a', n: 1n }, 'sft: data: row 2, field n: JSON cannot represent a bigint'],
  [['a'], "sft: data: row 2: expected an object of columns, such as { prompt: '...' }, got a list"],
])('a row that JSON cannot hold is an error that names it: %o', async (row: object, message) => {
  const data = [{ prompt: 'a', completion: 'b', note: undefined }, row]
  await expect(sft({ ...options, model, data, output: fresh('bad') })).rejects.toThrow(message)
})

test('a model of the program is trained in place, and is still there', async () => {
  const live = await liveModel()
  const before = await live.checksum()
  const given = { ...rollouts, data: rows, rewards: ({ response }: { response: string }) => letters(response, 'e') }
  const { directory } = await grpo({ ...given, model: live, output: fresh('live') })
  expect(await live.checksum()).not.toBe(before)
  const { directory: fromFiles } = await grpo({ ...given, model, output: fresh('files') })
  expect(weights(directory).equals(weights(fromFiles))).toBe(true)
  expect(Object.keys((await Run.read(directory)).config.inputs!.model!)).toContain('model.safetensors')
})

test('critic, reference, tokenizer and generator of the program', async () => {
  const live = await liveModel()
  const reference = await liveModel(await modelDirectory(2))
  const critic = await LocalModel.load(model, { role: 'value', device: 'cpu' })
  atEnd(() => critic.dispose())
  const generator = new LocalEngine(live, { tokenizer })
  atEnd(() => generator.close())
  const given = { ...rollouts, data: rows, rewards: ({ response }: { response: string }) => letters(response, 'e') }
  const { directory, models } = await ppo({
    ...given,
    model: live,
    reference,
    critic: { model: critic },
    tokenizer,
    generator,
  })
  expect(models.value).toBe(join(directory, 'value_model'))
  expect(Object.keys((await Run.read(directory)).config.inputs!).sort()).toEqual(
    ['critic.model', 'model', 'reference', 'rewards', 'tokenizer'].sort(),
  )
  expect(generator.policyVersion).toBe(live.version)
})

test('a model without a tokenizer gets that of the run', async () => {
  const { config } = await liveModel()
  const made = await LocalModel.create(config, { role: 'language', seed: 3, device: 'cpu' })
  atEnd(() => made.dispose())
  const data = rows.map(({ prompt }) => ({ prompt, completion: 'a' }))
  const { models } = await sft({ ...options, model: made, tokenizer, data, output: fresh('made') })
  expect((await Tokenizer.load(models.final!)).vocabSize).toBe(tokenizer.vocabSize)
})

test('a model of another role, and options that a loaded model no longer takes, are refused', async () => {
  const value = await LocalModel.load(model, { role: 'value', device: 'cpu' })
  atEnd(() => value.dispose())
  const data = rows.map(({ prompt }) => ({ prompt, completion: 'a' }))
  // @ts-expect-error a value model does not speak
  await expect(sft({ ...options, model: value, data, output: fresh('role') })).rejects.toThrow(
    'sft: model: expected a language model, got a value model',
  )
  const live = await liveModel()
  for (const [option, given] of Object.entries({
    lora: { lora: {} },
    dtype: { dtype: 'bfloat16' },
    gradientCheckpointing: { gradientCheckpointing: true },
    'optimizer.eps': { optimizer: { eps: 1e-6 } },
  } as const))
    await expect(sft({ ...options, model: live, data, ...given })).rejects.toThrow(
      `${option}: only for a model that the run loads`,
    )
  const critic = { optimizer: { masters: 'exact' as const }, model: value }
  await expect(ppo({ ...rollouts, model, data: rows, rewards: () => 1, critic })).rejects.toThrow(
    'optimizer.masters: only for a model that the run loads',
  )
})

test.each([
  [{ model: {} }, 'model: expected a model directory, or a model of the program such as a LocalModel'],
  [{ reference: {} }, 'reference: expected a model directory, or a model of the program'],
  [{ data: 7 }, 'data: expected files, or rows (an iterable of objects), got a number'],
  [{ generator: { generat() {} } }, 'generator: expected options, a definition, or a Generator'],
])('what is no live part is refused in words of the program: %o', async (given, message) => {
  await expect(grpo({ ...rollouts, model, data: rows, rewards: () => 1, ...given } as never)).rejects.toThrow(message)
})

test('models that a run loads have the dtype of the one that it is given', async () => {
  const live = await LocalModel.load(model, { role: 'language', device: 'cpu', dtype: 'bfloat16' })
  atEnd(() => live.dispose())
  const { directory } = await grpo({ ...rollouts, iterations: 1, model: live, data: rows, rewards: () => 1 })
  expect((await Run.read(directory)).config.config).toMatchObject({ dtype: 'bfloat16' })
})

test('preferences and reward models', async () => {
  const data = rows.map(({ prompt, letter }) => ({ prompt, chosen: letter, rejected: 'zz' }))
  const trained = { ...options, model, data, batchSize: 2 }
  const { models, metrics } = await dpo({ ...trained, loss: 'ipo', output: fresh('dpo') })
  expect(existsSync(models.final!)).toBe(true)
  expect(metrics['preference/margin']).toBeTypeOf('number')
  const reward = await rewardModel({ ...trained, output: fresh('reward') })
  expect(reward.metrics['reward/accuracy']).toBeTypeOf('number')
})

test('a run that is stopped goes on to the same bits, and refuses what is not what it was started with', async () => {
  const rewards = ({ response }: { response: string }) => letters(response, 'e')
  const given = { ...rollouts, data: rows, rewards }
  const whole = await grpo({ ...given, model: await liveModel(), output: fresh('whole') })
  const output = fresh('stopped')
  const stop = new AbortController()
  const run = grpo({ ...given, model: await liveModel(), output, signal: stop.signal })
  for await (const event of run) if (event.kind === 'step' && event.step === 1) stop.abort()
  expect(await run).toMatchObject({ outcome: 'stopped', models: {} })

  const resumed = { ...given, output, resume: true }
  const other = await liveModel(await modelDirectory(2))
  await expect(grpo({ ...resumed, model: other })).rejects.toThrow(
    `model: has changed since the run in ${output} started`,
  )
  const otherRewards = ({ response }: { response: string }) => letters(response, 'a')
  const live = await liveModel()
  await expect(grpo({ ...resumed, model: live, rewards: otherRewards })).rejects.toThrow(
    `rewards: has changed since the run in ${output} started`,
  )
  await expect(grpo({ ...resumed, model: live, data: rows.slice(1) })).rejects.toThrow(
    `data: has changed since the run in ${output} started`,
  )
  expect(await grpo({ ...resumed, model: live })).toMatchObject({ outcome: 'finished' })
  expect(weights(output).equals(weights(whole.directory))).toBe(true)
  expect(await replayRl(output)).toMatchObject({ iterations: 3, mismatches: [], notCompared: [] })
  await expect(grpo({ ...given, model: live, output })).rejects.toThrow(`output: ${output} already has a run`)
})

test('a change that is allowed is written down', async () => {
  const output = fresh('allowed')
  const given = { ...rollouts, model, data: rows, output }
  await grpo({ ...given, iterations: 1, rewards: ({ response }) => letters(response, 'a') })
  const changed = { ...given, resume: true, allowChange: ['rewards'] }
  await grpo({ ...changed, iterations: 2, rewards: ({ response }) => letters(response, 'e') })
  const { config } = await Run.read(output)
  expect(config.changes.map(({ key }) => key)).toEqual(['iterations', 'rewards rewards.txt'])
})

test('events tell what happens, from checks to the end', async () => {
  const held = { validationShare: 0.4, evaluation: { every: 1 }, sampleEvery: 1 }
  const run = grpo({ ...rollouts, ...held, iterations: 2, model, data: rows, rewards: () => 1 })
  const events = await eventsOf(run)
  const kinds = events.map(({ kind }) => kind)
  expect(new Set(kinds)).toEqual(
    new Set(['stage', 'checked', 'note', 'evaluation', 'step', 'sample', 'checkpoint', 'warning', 'end']),
  )
  // All rewards are equal.
  expect(events.find(({ kind }) => kind === 'warning')).toMatchObject({
    message: expect.stringMatching(/^All rewards of the last 2 iterations are equal/),
  })
  expect(kinds.at(-1)).toBe('end')
  const steps = events.flatMap(event => (event.kind === 'step' ? [event] : []))
  expect(steps.map(({ step, metrics }) => [step, metrics['reward/mean']])).toEqual([
    [1, 1],
    [2, 1],
  ])
  const evaluations = events.flatMap(event => (event.kind === 'evaluation' ? [event] : []))
  expect(evaluations.map(({ step, metrics }) => [step, metrics['validation/reward']])).toEqual([
    [0, 1],
    [1, 1],
    [2, 1],
  ])
  expect(events.find(event => event.kind === 'sample')).toMatchObject({ step: 0, reward: 1, components: { reward: 1 } })
  expect(events.flatMap(event => (event.kind === 'checkpoint' ? [event.step] : []))).toEqual([1, 2])
  // Who comes late reads the same.
  expect(await eventsOf(run)).toEqual(events)
})

test('a reader that leaves does not stop the run, and its directory is a temporary one', async () => {
  const run = grpo({ ...rollouts, iterations: 2, model, data: rows, rewards: () => 1 })
  for await (const event of run) if (event.kind === 'checked') break
  const { directory, outcome, step } = await run
  expect({ outcome, step }).toEqual({ outcome: 'finished', step: 2 })
  expect(directory).toMatch(/whetstone-grpo-/)
  expect(statSync(directory).isDirectory()).toBe(true)
})

test('what is wrong is found before anything is written, and is told to readers of the promise and of the events', async () => {
  const output = fresh('wrong')
  // @ts-expect-error there is no such option
  const misspelt = sft({ ...options, model, data: rows, output, epoch: 3 })
  await expect(misspelt).rejects.toThrow('sft: there is no option "epoch"; did you mean epochs?')
  await expect(eventsOf(misspelt)).rejects.toThrow('there is no option "epoch"')
  expect(existsSync(output)).toBe(false)
  const unlabelled = rows.map(({ letter }) => ({ letter }))
  await expect(grpo({ ...rollouts, model, data: unlabelled, rewards: () => 1, output })).rejects.toThrow(/row|prompt/)
  await expect(grpo({ ...rollouts, model: fresh('none'), data: rows, rewards: () => 1 })).rejects.toThrow(
    'grpo: model:',
  )
  await expect(grpo({ ...rollouts, model, data: rows, rewards: Math.abs.bind(undefined) as never })).rejects.toThrow(
    'the source text of bound abs cannot be read',
  )
  await expect(sft({ ...options, model, data: rows, resume: true })).rejects.toThrow('resume: needs output')
})

test('a failure that only the events are read for is no unhandled rejection', async () => {
  const unhandled: unknown[] = []
  const listen = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', listen)
  try {
    await expect(eventsOf(sft({ ...options, model: fresh('none'), data: rows }))).rejects.toThrow()
    await setImmediate()
    await setImmediate()
    expect(unhandled).toEqual([])
  } finally {
    process.off('unhandledRejection', listen)
  }
})

test('options are checked against what a live generator can do, and a version of a reward is recorded', async () => {
  const live = await liveModel()
  const engine = new LocalEngine(live, { tokenizer })
  atEnd(() => engine.close())
  const shared = { ...rollouts, model: live, tokenizer, data: rows, rewards: () => 1 }
  const structured = { kind: 'regex', pattern: 'a+' } as const
  await expect(
    Promise.resolve(grpo({ ...shared, generator: engine, structured, output: fresh('structured') })),
  ).rejects.toThrow('structured: the generator does not support regex; it supports no structured output')
  await expect(
    Promise.resolve(grpo({ ...shared, generator: engine, maxStaleness: 1, tisCap: 2, output: fresh('stale') })),
  ).rejects.toThrow('maxStaleness: needs servers; this generator always samples from the weights in training')
  // One that says it can is asked for it; this one then refuses the request.
  const able = new Proxy(engine, {
    get: (target, key) => {
      if (key === 'capabilities') return { ...target.capabilities, structured: ['regex'] }
      const value: unknown = Reflect.get(target, key, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const checked = grpo({ ...shared, generator: able, structured, output: fresh('able'), iterations: 1 })
  await expect(Promise.resolve(checked)).rejects.toThrow('structured: this engine does not support regex')

  const output = fresh('versioned')
  const words = ['a']
  const reward = (version: unknown) =>
    Object.assign(({ response }: { response: string }) => words.filter(word => response.includes(word)).length, {
      version,
    })
  const run = { ...rollouts, model, data: rows, output, iterations: 1 }
  await grpo({ ...run, rewards: reward({ words }) })
  expect(readFileSync(join(output, 'data', 'rewards.txt'), 'utf8')).toContain('// version: {"words":["a"]}')
  await expect(
    Promise.resolve(grpo({ ...run, iterations: 2, resume: true, rewards: reward({ words: ['b'] }) })),
  ).rejects.toThrow('rewards: has changed since the run')
})

test('a list of rewards may name rules and files beside functions; what they name is an input of the run', async () => {
  const output = fresh('mixed')
  const file = written('one.mjs', 'export default () => 1\n')
  const half = (): number => 0.5
  const rewards = ['exact-match', file, half]
  const targets = rows.map(row => ({ ...row, target: row.letter }))
  const run = { ...rollouts, model, data: targets, output, rewards }
  await grpo({ ...run, iterations: 1 })
  const { metrics, config } = await Run.read(output)
  expect(metrics.get('reward/mean')!.map(({ value }) => value)).toEqual([1.5])
  expect([...metrics.keys()].filter(name => name.startsWith('reward/component/')).sort()).toEqual(
    ['exact-match', basename(file, '.mjs'), 'half'].map(name => `reward/component/${name}`).sort(),
  )
  expect(Object.keys(config.inputs!.rewards!)).toEqual(expect.arrayContaining(['rewards.txt', basename(file)]))
  writeFileSync(file, 'export default () => 2\n')
  await expect(grpo({ ...run, resume: true })).rejects.toThrow(/rewards .*one\.mjs: was "/)
  const fewer = grpo({ ...run, rewards: ['exact-match', half], resume: true })
  await expect(fewer).rejects.toThrow('rewards: has changed since the run')
  const unknown = grpo({ ...run, output: fresh('unknown'), rewards: ['gsm8k', half] })
  await expect(unknown).rejects.toThrow('rewards: gsm8k: there is no such file; did you mean numeric-answer?')
})
