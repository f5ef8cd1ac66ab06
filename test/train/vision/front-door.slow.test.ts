/** Rows with images through the functions and commands of the package. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dpo, evaluate, experience, grpo, LocalModel, rewardModel, sft } from '../../../src/index.js'
import { sampleReward } from '../../../src/reward/index.js'
import { replayRl, replaySupervised } from '../../../src/train/index.js'
import { fresh } from '../../support/files.js'
import { modelDirectory } from '../../support/tiny-model.js'
import { colours, pictureFolder, visionDirectory } from '../../support/vision-task.js'

const model = await visionDirectory(2)
const { folder, names } = await pictureFolder(3)
const path = join(folder, names[0]!.name)
const data = new Uint8Array(16 * 16 * 3).fill(70)
/** A path, bytes, decoded pixels, a part of a message, frames. */
const rows = [
  { prompt: 'Which colour?', images: [path], target: 'red' },
  { prompt: 'Which colour?', images: [{ bytes: readFileSync(path) }], target: 'red' },
  { prompt: 'Which colour?', images: [{ data, width: 16, height: 16 }], target: 'grey' },
  { prompt: [{ role: 'user', content: [{ type: 'image', image: path }] }], target: 'red' },
  { prompt: 'What happens?', videos: [{ frames: [path, path], fps: 2 }], target: 'nothing' },
  { prompt: 'Say something', target: 'something' },
]
const quick = { optimizer: { lr: 1e-3 }, device: 'cpu', seed: 1 } as const
const rl = { ...quick, iterations: 2, rolloutBatchSize: 3, nSamplesPerPrompt: 2, maxNewTokens: 4 } as const

test('grpo over rows in code: rewards see the images; the run keeps copies, resumes and replays', async () => {
  const output = fresh('run')
  const seen: string[] = []
  const own = rows.map(row => ({ ...row }))
  const options = {
    ...rl,
    model,
    data: own,
    output,
    rewards: ({
      images = [],
      videos = [],
      response,
    }: {
      images?: readonly { pixels: Uint8Array }[]
      videos?: readonly unknown[]
      response: string
    }) => {
      seen.push(`${images.map(({ pixels }) => pixels.length)} ${videos.length}`)
      return response.length
    },
  }
  const { outcome } = await grpo(options as never)
  expect(outcome).toBe('finished')
  expect([...new Set(seen)].sort()).toEqual([' 0', ' 1', '768 0'])
  // The file, its bytes and its copies are one file.
  expect(readdirSync(join(output, 'data/media'))).toHaveLength(3)
  rmSync(folder, { recursive: true })
  expect(await replayRl(output)).toMatchObject({ mismatches: [], notCompared: [] })
})

test('sft, a reward model and dpo over rows with images; replayed = live', async () => {
  const { folder: at, names: files } = await pictureFolder(4)
  const image = (i: number) => [join(at, files[i]!.name)]
  const answered = files.map(({ colour }, i) => ({ prompt: 'Which colour?', images: image(i), completion: colour }))
  const pairs = files.map(({ colour }, i) => ({
    prompt: 'Which colour?',
    images: image(i),
    chosen: colour,
    rejected: Object.keys(colours).find(one => one !== colour)!,
  }))
  const labelled = files.map(({ colour }, i) => ({
    prompt: 'Which colour?',
    images: image(i),
    completion: colour,
    label: i % 2 === 0,
  }))
  const settings = { ...quick, model, batchSize: 2, saveSteps: 100 }
  for (const start of [
    () => sft({ ...settings, data: answered }),
    () => sft({ ...settings, data: answered, freezeVision: 'all' }),
    () => rewardModel({ ...settings, data: pairs }),
    () => dpo({ ...settings, data: pairs }),
    () => dpo({ ...settings, data: labelled, loss: 'kto' }),
  ]) {
    const { outcome, directory } = await start()
    expect(outcome).toBe('finished')
    const { mismatches, notCompared, rows: compared } = await replaySupervised(directory)
    expect({ mismatches, notCompared, compared }).toEqual({ mismatches: [], notCompared: [], compared: 4 })
  }
})

test('a live model reads images with the processor that it was loaded with', async () => {
  const { folder: at, names: files } = await pictureFolder(2)
  const live = await LocalModel.load(model, { role: 'language' })
  const row = { prompt: 'Which colour?', images: [join(at, files[0]!.name)] }
  const { outcome } = await grpo({ ...rl, rolloutBatchSize: 1, model: live, data: [row], rewards: () => Math.random() })
  live.dispose()
  expect(outcome).toBe('finished')
})

test('experience and evaluate read them too', async () => {
  const { folder: at, names: files } = await pictureFolder(2)
  const given = files.map(({ name, colour }) => ({ prompt: 'Which colour?', images: [join(at, name)], target: colour }))
  const made = []
  for await (const batch of experience({
    model,
    data: given,
    nSamplesPerPrompt: 2,
    maxNewTokens: 4,
    device: 'cpu',
    advantageEstimator: 'rloo',
    rewards: ({ images }: { images?: readonly unknown[] }) => images?.length ?? 0,
  } as never))
    made.push(...batch.experiences)
  expect(made.map(({ reward, sequence }) => [reward, sequence.media.length])).toEqual(made.map(() => [1, 1]))
  const { evaluation, answers } = await evaluate({
    model,
    data: files.map(({ name, colour }) => ({ prompt: 'Which colour?', images: [join(at, name)], completion: colour })),
    reward: { sources: [sampleReward(({ images }) => images?.length ?? 0, { name: 'images' })] },
    maxNewTokens: 4,
    device: 'cpu',
  })
  expect(evaluation.model).toMatchObject({ perplexity: { rows: 2 }, rewards: { reward: { mean: 1 } } })
  expect(evaluation.model.answers).toMatchObject({ answered: 2 })
  expect(answers.model).toHaveLength(2)
})

test('a model of text says what it needs, before anything is written', async () => {
  const text = await modelDirectory(1)
  const given = [{ prompt: 'a', images: [{ data, width: 16, height: 16 }], completion: 'b' }]
  await expect(sft({ ...quick, model: text, data: given, chatTemplate: 'none' })).rejects.toThrow('reads text alone')
  const sounds = [{ prompt: 'a', audios: [Uint8Array.of(1)] }]
  await expect(grpo({ ...rl, model, data: sounds, rewards: () => 0 })).rejects.toThrow(
    'local models do not support audio',
  )
})
