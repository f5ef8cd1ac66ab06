/** Reinforcement learning of 16-bit weights: where masters start changes no sample of the first rollout, and every one after. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replayRl } from '../../../src/train/rl/index.js'
import { fresh } from '../../support/files.js'
import { finalWeights, metricLines, smallRun, start } from '../../support/rl.js'

const options = { iterations: 2, algorithm: 'grpo', dtype: 'bfloat16' }
const base = await smallRun({ seed: 14, prompts: 4, layers: 1 }, options)

/** What the engine sampled in the first iteration, in the order of the samples. */
async function firstSamples(run: string): Promise<string[]> {
  const lines = (await readFile(join(run, 'journal', '000000.jsonl'), 'utf8')).trimEnd().split('\n')
  const records = lines.map(line => (JSON.parse(line) as { record: Record<string, unknown> }).record)
  return records
    .filter(({ kind }) => kind === 'outcome')
    .map(({ promptId, sample, responseIds, engineLogprobs }) =>
      JSON.stringify([promptId, sample, responseIds, engineLogprobs]),
    )
    .sort()
}

test('the first rollout is the same with and without dither, to the bit; what is learned is not', async () => {
  const [exact, dithered] = [fresh('exact'), fresh('dither')]
  const optimizer = { lr: 1e-5 }
  await start({ ...base, optimizer: { ...optimizer, masters: 'exact' }, output: exact })
  await start({ ...base, optimizer, output: dithered })
  expect((await firstSamples(exact)).length).toBeGreaterThan(0)
  expect(await firstSamples(dithered)).toEqual(await firstSamples(exact))
  const [one, other] = [(await metricLines(exact))[0]!.values, (await metricLines(dithered))[0]!.values]
  for (const name of ['reward/mean', 'entropy/mean', 'grad/norm', 'policy/loss']) expect(other[name]).toBe(one[name])
  expect(other['weights/changed']).toBeGreaterThan(one['weights/changed']!)
  expect(finalWeights(dithered).equals(finalWeights(exact))).toBe(false)
})

test('in bfloat16 a run stopped and resumed is the run that was not, and replays', async () => {
  const given = { ...base, emaDecay: 0.9 }
  const [straight, stopped] = [fresh('straight'), fresh('stopped')]
  await start({ ...given, output: straight })
  let { outcome } = await start({ ...given, output: stopped }, { stopAt: 'generating' })
  for (let stops = 0; outcome === 'stopped' && stops < 20; stops++)
    ({ outcome } = await start({ ...given, output: stopped }, { resume: true, stopAt: 'updating' }))
  for (const kind of ['final_model', 'ema_model'])
    expect(finalWeights(stopped, kind).equals(finalWeights(straight, kind)), kind).toBe(true)
  expect(await replayRl(stopped)).toMatchObject({ iterations: 2, mismatches: [] })
})

test('a dtype that the engine does not generate in is refused before models are read', async () => {
  const output = fresh('refused')
  await expect(start({ ...base, dtype: 'float16', output })).rejects.toThrow(
    'dtype: generation on the CPU is in float32 or bfloat16, not float16; set dtype to one of them',
  )
  expect(existsSync(output)).toBe(false)
})
