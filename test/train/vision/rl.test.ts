/** Reinforcement learning on prompts with images: trained, resumed and replayed, and what a run keeps of them. */
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { replayRl } from '../../../src/train/index.js'
import { cli } from '../../support/cli.js'
import { fresh, jsonLines, written } from '../../support/files.js'
import { finalWeights, metricLines, start } from '../../support/rl.js'
import { eventLines } from '../../support/through-engine.js'
import { modelDirectory } from '../../support/tiny-model.js'
import { pictureFolder, rowsBeside, squarePng } from '../../support/vision-task.js'
import { model, optionsOf, run } from './rl-world.js'

test('mixed batches: the engine and the trainer read the same pixels; resumed = uninterrupted; replayed = live', async () => {
  const more = { updateEpochs: 2, trainBatchSize: 6 }
  const whole = await run(more)
  for (const { values } of metricLines(whole.output)) expect(values['gap/max']).toBeLessThan(1e-4)
  expect(finalWeights(whole.output).equals(finalWeights(model, '.'))).toBe(false)
  const broken = await run(more, { stopAt: 'updating' })
  expect(broken.outcome).toBe('stopped')
  await start(broken.options, { resume: true })
  expect(finalWeights(broken.output).equals(finalWeights(whole.output))).toBe(true)
  expect(await replayRl(broken.output)).toMatchObject({ iterations: 3, mismatches: [], notCompared: [] })
})

describe('what a run keeps', () => {
  test('pixels once by content, and a replay needs no original', async () => {
    const copied = await pictureFolder(2)
    const own = rowsBeside(
      copied.folder,
      copied.names.map(({ name }) => ({ prompt: 'Which?', images: [name] })),
    )
    const { output } = await run({ data: own, rolloutBatchSize: 2 })
    const kept = readdirSync(join(output, 'media')).filter(name => name.endsWith('.png'))
    expect(kept.length).toBe(2)
    // In the order in which they were decoded.
    const named = jsonLines(join(output, 'media/files.jsonl')).map(({ name }) => name)
    expect(named.toSorted()).toEqual(copied.names.map(({ name }) => join(copied.folder, name)).toSorted())
    rmSync(copied.folder, { recursive: true })
    expect(await replayRl(output)).toMatchObject({ iterations: 3, mismatches: [], notCompared: [] })
    renameSync(join(output, 'media', kept[0]!), join(output, 'media', kept[1]!))
    const { mismatches } = await replayRl(output)
    expect(mismatches.join()).toMatch(/the run's copy of an image (is gone|has other pixels)/)
  })

  test('a picture that changed is refused by its name', async () => {
    const copied = await pictureFolder(2)
    const own = rowsBeside(
      copied.folder,
      copied.names.map(({ name }) => ({ prompt: 'Which?', images: [name] })),
    )
    const { options } = await run({ data: own, rolloutBatchSize: 2 }, { stopAt: 'updating' })
    const picture = join(copied.folder, '0.png')
    writeFileSync(picture, await squarePng('blue', 7))
    await expect(start(options, { resume: true })).rejects.toThrow(
      `${picture}: changed, or gone, since the run read it`,
    )
    rmSync(picture)
    await expect(start(options, { resume: true })).rejects.toThrow('0.png')
    writeFileSync(picture, await squarePng('red', 0))
    expect((await start(options, { resume: true })).outcome).toBe('finished')
  })

  test('a row whose picture cannot be read is dropped with the reason, and others take its place', async () => {
    const copied = await pictureFolder(3)
    writeFileSync(join(copied.folder, '1.png'), 'not a picture')
    const own = rowsBeside(
      copied.folder,
      copied.names.map(({ name }) => ({ prompt: 'Which?', images: [name] })),
    )
    const { output, options, outcome } = await run({ data: own, rolloutBatchSize: 2, iterations: 2 })
    expect(outcome).toBe('finished')
    const dropped = metricLines(output).map(({ values }) => values['drops/generation: media'] ?? 0)
    expect(Math.max(...dropped)).toBe(1)
    expect(eventLines(output).map(({ message }) => message)).toContainEqual(
      expect.stringMatching(/a prompt has images or videos that cannot be used, .* 1\.png: it is not an image/),
    )
    // A dry run reads every image, and names all that are bad.
    writeFileSync(join(copied.folder, '2.png'), 'not a picture either')
    const config = written('rl.json', JSON.stringify({ ...options, output: fresh('run') }))
    const { code, stderr } = await cli(['rl', '--config', config, '--dry-run'])
    expect(code, stderr).toBe(1)
    expect(stderr).toMatch(/data: 2 prompts have images .*\n.*:2: 1\.png: .*\n.*:3: 2\.png: /)
  })
})

test('a model of text refuses rows with images before it begins', async () => {
  const output = fresh('run')
  const text = await modelDirectory(1)
  await expect(start(optionsOf({ model: text, output, chatTemplate: 'none' }))).rejects.toThrow(
    'images and videos need a vision-language model, and this model reads text alone',
  )
  expect(existsSync(output)).toBe(false)
})
