/** Files of a run that were damaged, cut or changed: nothing is trained on them unnoticed. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { cp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replayRl } from '../../../src/train/rl/index.js'
import { fresh } from '../../support/files.js'
import { finalWeights, letterReward, modelDirectory, promptFile, quickly, start } from '../../support/rl.js'
import { flipBit } from '../../support/run.js'

const model = await modelDirectory(8, { layers: 1 })
const data = promptFile(4)
/** With everything a checkpoint can hold: a critic, an average, a KL controller that moves, supervised rows. */
const base = quickly({
  ...{ model, data, rewards: letterReward, algorithm: 'ppo', nSamplesPerPrompt: 2, maxNewTokens: 4 },
  ...{ emaDecay: 0.9, klController: { kind: 'adaptive', coef: 0.1, target: 1, horizon: 100 }, keepCheckpoints: 9 },
  ...{ updateEpochs: 1, trainBatchSize: 2, saveSteps: 4, critic: { optimizer: { lr: 1e-3 } } },
})

const whole = fresh('run')
await start({ ...base, output: whole })
const exports = ['final_model', 'value_model', 'ema_model'] as const
const weights = exports.map(name => finalWeights(whole, name))

const begun = fresh('run')
await start({ ...base, output: begun, iterations: 2 })
async function copyOf(run: string): Promise<string> {
  const output = fresh('run')
  await cp(run, output, { recursive: true })
  return output
}

async function expectSameEnd(output: string): Promise<void> {
  await start({ ...base, output }, { resume: true })
  for (const [i, name] of exports.entries()) expect(finalWeights(output, name).equals(weights[i]!), name).toBe(true)
}

const checkpoints = readdirSync(join(begun, 'checkpoints')).sort()
const newest = join('checkpoints', checkpoints.at(-1)!)
const files = readdirSync(join(begun, newest), { recursive: true, encoding: 'utf8' })
  .filter(name => statSync(join(begun, newest, name)).isFile())
  .sort()

test('a checkpoint of all that can be in one', () => {
  expect(checkpoints).toEqual(['000004', '000008'])
  const state = ['state.json', 'weights.safetensors', 'optimizer.safetensors']
  expect(files).toEqual(
    [
      ...['actor', 'critic'].flatMap(name => state.map(file => `${name}/${file}`)),
      'ema/state.json',
      'ema/weights.safetensors',
      'state.json',
    ].sort(),
  )
})

test.each(files)(
  'one flipped bit of %s: the checkpoint is passed over, and the run comes to the same end',
  async file => {
    const output = await copyOf(begun)
    const path = join(output, newest, file)
    flipBit(path, Math.floor(readFileSync(path).length * 0.7), 2)
    await expectSameEnd(output)
    const events = await readFile(join(output, 'logs', 'events.jsonl'), 'utf8')
    expect(events).toContain('"checkpoint passed over"')
    await rm(output, { recursive: true })
  },
)

/** A run that was stopped between two updates of its second iteration, with checkpoints of before. */
async function stoppedWithin(): Promise<string> {
  const output = await copyOf(begun)
  await rm(join(output, newest), { recursive: true })
  await start({ ...base, output, saveSteps: 1 }, { resume: true, stopAt: 'updating' })
  return output
}

test('a journal that lost the end of the iteration that was begun: the iteration begins again from its checkpoint', async () => {
  const within = await stoppedWithin()
  const [, file] = readdirSync(join(within, 'journal')).sort()
  const journal = join(within, 'journal', file!)
  const lines = (await readFile(journal, 'utf8')).split('\n')
  const kinds = lines.slice(0, -1).map(line => JSON.parse(line).record.kind as string)
  expect(kinds.at(-1)).toBe('update')
  // After a sample, before the batch, before the update.
  for (const cut of [kinds.indexOf('outcome') + 1, kinds.indexOf('rollout'), kinds.lastIndexOf('update')]) {
    const output = await copyOf(within)
    await writeFile(join(output, 'journal', file!), `${lines.slice(0, cut).join('\n')}\n`)
    await expectSameEnd(output)
    const events = await readFile(join(output, 'logs', 'events.jsonl'), 'utf8')
    expect(events).toContain('it is in the middle of iteration 1, and the journal of that iteration lacks records')
    await rm(output, { recursive: true })
  }
})

test('a journal that lost its end, and no checkpoint of before: refused', async () => {
  const output = await stoppedWithin()
  const [kept] = readdirSync(join(output, 'checkpoints')).sort().reverse()
  for (const name of readdirSync(join(output, 'checkpoints')))
    if (name !== kept) await rm(join(output, 'checkpoints', name), { recursive: true })
  await rm(join(output, 'journal'), { recursive: true })
  await expect(start({ ...base, output }, { resume: true })).rejects.toThrow(
    /has no checkpoint that can be resumed:\n.*in the middle of iteration 1/,
  )
})

const journalOf = (run: string, iteration: number): string => join(run, 'journal', `00000${iteration}.jsonl`)
/** Cuts a journal before its last record of a kind. */
async function cutBefore(file: string, kind: string): Promise<void> {
  const lines = (await readFile(file, 'utf8')).split('\n')
  const at = lines.findLastIndex(line => line.includes(`"record":{"kind":"${kind}"`))
  await writeFile(file, `${lines.slice(0, at).join('\n')}\n`)
}

const losses: readonly [string, (run: string) => Promise<void>, object][] = [
  ['nothing', async () => {}, { iterations: 3, updates: 12, notCompared: [] }],
  [
    'the last iteration',
    run => rm(journalOf(run, 2)),
    { iterations: 2, notCompared: ['iteration 2: not compared, its batch is missing in the journal'] },
  ],
  [
    'one in the middle',
    run => rm(journalOf(run, 1)),
    {
      iterations: 1,
      notCompared: [
        'iteration 1: not compared, its batch is missing in the journal',
        'iteration 2: not compared, because they depend on iteration 1',
      ],
    },
  ],
  [
    'all of it',
    run => rm(join(run, 'journal'), { recursive: true }),
    {
      iterations: 0,
      notCompared: [
        'iteration 0: not compared, its batch is missing in the journal',
        'iterations 1 to 2: not compared, because they depend on iteration 0',
      ],
    },
  ],
  [
    'an optimiser step',
    run => cutBefore(journalOf(run, 2), 'update'),
    { iterations: 3, updates: 11, notCompared: ['iteration 2: 1 of its 4 optimiser steps are missing in the journal'] },
  ],
  [
    'the last record',
    run => cutBefore(journalOf(run, 2), 'end'),
    { iterations: 3, notCompared: ['iteration 2: its end is missing in the journal'] },
  ],
  [
    'its end, and the run its checkpoints and metrics',
    async run => {
      await rm(journalOf(run, 2))
      for (const name of ['checkpoints', 'logs/metrics.jsonl']) await rm(join(run, name), { recursive: true })
    },
    { iterations: 2, notCompared: ['the run made 12 optimiser steps, and the journal has 8'] },
  ],
]
test.each(losses)('a replay of a journal that lost %s says what it did not compare', async (_, lose, expected) => {
  const run = await copyOf(whole)
  await lose(run)
  expect(await replayRl(run)).toMatchObject({ mismatches: [], ...expected })
})

test('a replay of a run in the middle of an iteration compares what was trained', async () => {
  const run = await stoppedWithin()
  expect(await replayRl(run)).toMatchObject({ iterations: 2, updates: 5, mismatches: [], notCompared: [] })
  await cutBefore(journalOf(run, 1), 'update')
  expect(await replayRl(run)).toMatchObject({
    notCompared: ['iteration 1: 1 of its 1 optimiser steps are missing in the journal'],
  })
})
