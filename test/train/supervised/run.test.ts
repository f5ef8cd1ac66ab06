/** What a supervised training leaves in its run directory, and what it refuses before it begins. */
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { LocalModel } from '../../../src/model/index.js'
import { silentReport } from '../../../src/progress/index.js'
import { Journal, Run } from '../../../src/run/index.js'
import { stepRecordSchema } from '../../../src/train/run/step-record.js'
import { sftSchema } from '../../../src/train/sft/config.js'
import { runSft } from '../../../src/train/sft/job.js'
import { replaySupervised } from '../../../src/train/supervised/replay.js'
import { fresh, jsonl } from '../../support/files.js'
import { jobOf, stoppingReport } from '../../support/supervised.js'
import { modelDirectory } from '../../support/tiny-model.js'
import { tokenizer } from '../../support/tokenizers.js'

let model: string
let data: string
beforeAll(async () => {
  model = await modelDirectory(1)
  data = jsonl(
    Array.from({ length: 11 }, (_, i) => ({ prompt: `Say ${i}`, completion: 'word '.repeat(1 + (i % 4)) + i })),
  )
})

const configOf = (rest: Partial<z.input<typeof sftSchema>> = {}) =>
  sftSchema.parse({ model, data, output: fresh('run'), epochs: 2, batchSize: 4, optimizer: { lr: 1e-3 }, ...rest })

const weightsIn = (directory: string) => readFileSync(join(directory, 'model.safetensors'))
const lines = (path: string) => readFileSync(path, 'utf8').trim().split('\n')

describe('a finished run', () => {
  test('has its models, metrics by step, and checkpoints', async () => {
    const config = configOf({ validationData: data, saveSteps: 2, keepCheckpoints: 2, lora: { rank: 2, alpha: 4 } })
    const { outcome, step, best, metrics } = await runSft(jobOf(config))
    expect({ outcome, step }).toEqual({ outcome: 'finished', step: 6 })
    expect(best).toEqual({ step: 6, metric: 'validation/perplexity', value: metrics['validation/perplexity'] })
    expect(existsSync(join(config.output, 'best_adapter', 'adapter_model.safetensors'))).toBe(true)
    expect(existsSync(join(config.output, 'final_adapter', 'adapter_config.json'))).toBe(true)
    // The last model was the best one, and can be loaded with its tokenizer where it lies.
    expect(weightsIn(join(config.output, 'best_model')).equals(weightsIn(join(config.output, 'final_model')))).toBe(
      true,
    )
    expect(existsSync(join(config.output, 'best_model', 'tokenizer.json'))).toBe(true)
    const loaded = await LocalModel.load(join(config.output, 'best_model'))
    loaded.dispose()
    const view = await Run.read(config.output)
    expect(view.status).toBe('finished')
    expect(view.checkpoints).toEqual([4, 6])
    expect(view.metrics.get('loss/train')?.map(point => point.step)).toEqual([1, 2, 3, 4, 5, 6])
    expect(view.metrics.get('validation/perplexity')?.map(point => point.step)).toEqual([0, 3, 6])
    expect(view.metrics.get('data/epoch')?.at(-1)?.value).toBe(2)
  })

  test('without validation data, the last model is the best', async () => {
    const config = configOf({ maxSteps: 1 })
    const { best } = await runSft(jobOf(config))
    expect(best).toBeUndefined()
    expect(weightsIn(join(config.output, 'best_model')).equals(weightsIn(join(config.output, 'final_model')))).toBe(
      true,
    )
  })

  test('where no checkpoint is better than the start, the best model is the start, and the run says so', async () => {
    const config = configOf({
      validationData: data,
      maxSteps: 4,
      evalSteps: 2,
      optimizer: { lr: 3, maxGradNorm: null },
    })
    const said: string[] = []
    const stop = new AbortController()
    const stopping = stoppingReport(text => text.startsWith('sft 2/') && stop.abort())
    await runSft(jobOf(config, { report: stopping, signal: stop.signal }))
    const report = { ...silentReport, line: (text: string) => said.push(text) }
    const { best } = await runSft(jobOf(config, { resume: true, report }))
    expect(best).toMatchObject({ step: 0, metric: 'validation/perplexity' })
    expect(weightsIn(join(config.output, 'best_model')).equals(weightsIn(config.model))).toBe(true)
    expect(weightsIn(join(config.output, 'final_model')).equals(weightsIn(config.model))).toBe(false)
    const view = await Run.read(config.output)
    // The resumed run does not measure the start again.
    expect(view.metrics.get('validation/perplexity')?.map(point => point.step)).toEqual([0, 2, 4])
    expect(view.events.filter(({ kind }) => kind === 'evaluation').map(event => event.step)).toEqual([0, 2, 4])
    expect(view.events.find(({ kind }) => kind === 'best')).toMatchObject({ step: 0 })
    expect(said.join('\n')).toMatch(
      /No checkpoint is better than the start \(validation\/perplexity [\d,.]+\): best_model is/,
    )
  })

  test('of a LoRA run with keep: adapters, nothing but adapters is written', async () => {
    const lora = { rank: 4, alpha: 8 }
    const config = configOf({ validationData: data, lora, keep: 'adapters', maxSteps: 2 })
    await runSft(jobOf(config))
    const whole = configOf({ validationData: data, lora, maxSteps: 2 })
    await runSft(jobOf(whole))
    const models = (output: string) =>
      readdirSync(output)
        .filter(name => /_(model|adapter)$/.test(name))
        .sort()
    expect(models(config.output)).toEqual(['best_adapter', 'final_adapter'])
    expect(models(whole.output)).toEqual(['best_adapter', 'best_model', 'final_adapter', 'final_model'])
    const weights = (output: string) => readFileSync(join(output, 'final_adapter', 'adapter_model.safetensors'))
    expect(weights(config.output).equals(weights(whole.output))).toBe(true)
    expect(() => configOf({ keep: 'adapters' })).toThrow('adapters needs lora or adapter')
  })

  test('lists the rows that were left out', async () => {
    const path = jsonl([{ prompt: 'a', completion: 'b' }, { prompt: 'a' }, { prompt: 'c', completion: 'd' }])
    const config = configOf({ data: path, maxBadRows: 1, epochs: 1 })
    await runSft(jobOf(config))
    const [skipped, ...more] = lines(join(config.output, 'logs', 'skipped.jsonl')).map(line => JSON.parse(line))
    expect(more).toEqual([])
    expect(skipped.where).toContain('rows')
    expect(skipped.where).toMatch(/2$/)
  })
})

describe('a stop', () => {
  test('finishes the step and saves; the resumed run ends with the same bits', async () => {
    const whole = configOf({ validationData: data, optimizer: { lr: 1e-3, schedule: 'cosine', warmupSteps: 2 } })
    await runSft(jobOf(whole))
    const config = { ...whole, output: fresh('run') }
    const stop = new AbortController()
    const report = stoppingReport(text => text.startsWith('sft 2/') && stop.abort())
    const stopped = await runSft(jobOf(config, { report, signal: stop.signal }))
    expect(stopped).toMatchObject({ outcome: 'stopped', step: 2 })
    expect(existsSync(join(config.output, 'final_model'))).toBe(false)
    expect((await Run.read(config.output)).status).toBe('stopped')
    const resumed = await runSft(jobOf(config, { resume: true }))
    expect(resumed).toMatchObject({ outcome: 'finished', step: 6 })
    for (const name of ['final_model', 'best_model'])
      expect(weightsIn(join(config.output, name)).equals(weightsIn(join(whole.output, name))), name).toBe(true)
    const losses = async (output: string) =>
      (await Run.read(output)).metrics.get('loss/train')?.map(({ value }) => value)
    expect(await losses(config.output)).toEqual(await losses(whole.output))
  })

  test('during an evaluation leaves it to the resumed run', async () => {
    const whole = configOf({ validationData: data, evalSteps: 2 })
    await runSft(jobOf(whole))
    const config = { ...whole, output: fresh('run') }
    const stop = new AbortController()
    const report = stoppingReport(text => text === 'evaluating' && stop.abort())
    await runSft(jobOf(config, { report, signal: stop.signal }))
    expect((await Run.read(config.output)).metrics.has('validation/perplexity')).toBe(false)
    const { best } = await runSft(jobOf(config, { resume: true }))
    expect(best).toBeDefined()
    const points = async (output: string) =>
      (await Run.read(output)).metrics.get('validation/perplexity')?.map(({ step, value }) => ({ step, value }))
    expect(await points(config.output)).toEqual(await points(whole.output))
  })

  test('at the last step is a stop as long as the last model is not evaluated', async () => {
    const config = configOf({ validationData: data, maxSteps: 2 })
    const stop = new AbortController()
    const report = stoppingReport(text => text.startsWith('sft 2/') && stop.abort())
    expect(await runSft(jobOf(config, { report, signal: stop.signal }))).toMatchObject({ outcome: 'stopped', step: 2 })
    expect(existsSync(join(config.output, 'final_model'))).toBe(false)
    const resumed = await runSft(jobOf(config, { resume: true }))
    expect(resumed).toMatchObject({ outcome: 'finished', step: 2, best: { step: 2 } })
    // What it knows now is saved: once more, there is nothing left to do.
    expect(await runSft(jobOf(config, { resume: true }))).toEqual(resumed)
    const points = (await Run.read(config.output)).metrics.get('validation/perplexity')
    expect(points?.map(({ step }) => step)).toEqual([0, 2])
  })

  test('a run that is finished goes on when it is given more steps', async () => {
    const whole = configOf({ maxSteps: 5 })
    await runSft(jobOf(whole))
    const config = { ...whole, output: fresh('run'), maxSteps: 3 }
    await runSft(jobOf(config))
    const more = { ...config, maxSteps: 5 }
    expect(await runSft(jobOf(more, { resume: true }))).toMatchObject({ outcome: 'finished', step: 5 })
    expect(weightsIn(join(config.output, 'final_model')).equals(weightsIn(join(whole.output, 'final_model')))).toBe(
      true,
    )
  })

  test('more steps are another training where the rate is spread over them', async () => {
    const config = configOf({ maxSteps: 2, optimizer: { lr: 1e-3, schedule: 'linear' } })
    await runSft(jobOf(config))
    await expect(runSft(jobOf({ ...config, maxSteps: 4 }, { resume: true }))).rejects.toThrow('maxSteps')
  })
})

test('a chat template that was given is part of what a run was started with', async () => {
  const file = fresh('template.jinja')
  const template = (word: string) =>
    `{% for message in messages %}${word} {{ message['role'] }}: {{ message['content'] }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}${word} assistant: {% endif %}`
  writeFileSync(file, template('one'))
  const config = configOf({ chatTemplate: file, maxSteps: 1 })
  await runSft(jobOf(config))
  writeFileSync(file, template('two'))
  const more = { ...config, maxSteps: 2 }
  await expect(runSft(jobOf(more, { resume: true }))).rejects.toThrow(
    /chatTemplate \d+-template\.jinja: was "[0-9a-f]{64}", is now "[0-9a-f]{64}"/,
  )
  await runSft(jobOf(more, { resume: true, allowChange: ['chatTemplate'] }))
  for (const name of ['tokenizer', 'final_model'])
    expect(readFileSync(join(config.output, name, 'chat_template.jinja'), 'utf8'), name).toBe(template('two'))
})

describe('replay', () => {
  test('derives every batch again without the model, and names a row that changed', async () => {
    const directory = fresh('model-copy')
    cpSync(model, directory, { recursive: true })
    const rows = lines(data)
    const path = `${fresh('replayed')}.jsonl`
    writeFileSync(path, `${rows.join('\n')}\n`)
    const config = configOf({ model: directory, data: path, maxSteps: 5 })
    await runSft(jobOf(config))
    rmSync(directory, { recursive: true })
    expect(await replaySupervised(config.output)).toEqual({
      batches: 5,
      rows: 19,
      mismatches: [],
      notCompared: [],
      changedFiles: [],
    })

    // Where a row says something else, its name is another too.
    writeFileSync(path, `${[...rows.slice(0, -1), rows.at(-1)!.replace('10', '77')].join('\n')}\n`)
    const changed = await replaySupervised(config.output)
    expect(changed.changedFiles).toEqual([path])
    expect(changed.mismatches.length).toBeGreaterThan(0)
    expect(changed.mismatches.every(({ message }) => message.includes('in its place'))).toBe(true)

    // The same rows by a tokenizer with another template.
    writeFileSync(path, `${rows.join('\n')}\n`)
    const template = join(config.output, 'tokenizer', 'chat_template.jinja')
    writeFileSync(template, readFileSync(template, 'utf8').replace('assistant', 'machine'))
    const { mismatches } = await replaySupervised(config.output)
    expect(mismatches[0]).toMatchObject({
      step: 1,
      message: expect.stringContaining('differ from the ones of the training'),
    })
  })

  test('steps that the journal lost are named', async () => {
    const config = configOf({ maxSteps: 5 })
    await runSft(jobOf(config))
    const directory = join(config.output, 'journal')
    const records = await (await Run.read(config.output)).journal.read(0)
    const lost = async (steps: readonly number[]) => {
      rmSync(directory, { recursive: true })
      const journal = new Journal(directory)
      for (const [i, { record }] of records.entries()) if (!steps.includes(i + 1)) await journal.append(0, record)
      await journal.close()
      const { batches, mismatches, notCompared } = await replaySupervised(config.output)
      expect(mismatches).toEqual([])
      expect(batches).toBe(5 - steps.length)
      return notCompared
    }
    expect(await lost([])).toEqual([])
    expect(await lost([5])).toEqual(['step 5: not compared, the journal has no record of it'])
    expect(await lost([2, 4, 5])).toEqual([
      'step 2: not compared, the journal has no record of it',
      'steps 4 to 5: not compared, the journal has no record of them',
    ])
    expect(await lost([1, 2, 3, 4, 5])).toEqual(['steps 1 to 5: not compared, the journal has no record of them'])
    mkdirSync(directory)
    writeFileSync(join(directory, '000000.jsonl'), '')
    expect((await replaySupervised(config.output)).notCompared).toHaveLength(1)
  })

  test('a record that was changed is named: by its line, or by its row where the checksum was changed with it', async () => {
    const config = configOf({ maxSteps: 3 })
    await runSft(jobOf(config))
    const directory = join(config.output, 'journal')
    const file = join(directory, '000000.jsonl')
    const records = await (await Run.read(config.output)).journal.read(0)
    const { rows, digests } = stepRecordSchema.parse(records[1]!.record)
    const flipped = digests.with(
      1,
      digests[1]!.replace(/^./, digit => (digit === '0' ? '1' : '0')),
    )

    writeFileSync(file, readFileSync(file, 'utf8').replace(digests[1]!, flipped[1]!))
    await expect(replaySupervised(config.output)).rejects.toThrow(/000000\.jsonl.*2/)

    rmSync(file)
    const journal = new Journal(directory)
    for (const [i, { record }] of records.entries())
      await journal.append(0, i === 1 ? { ...record, digests: flipped } : record)
    await journal.close()
    const { mismatches } = await replaySupervised(config.output)
    expect(mismatches).toMatchObject([{ step: 2, row: rows[1] }])
  })
})

describe('before the model is loaded', () => {
  const refused = async (rest: Partial<z.input<typeof sftSchema>>) => {
    const config = configOf(rest)
    const error = await runSft(jobOf(config)).then(
      () => undefined,
      (thrown: Error) => thrown,
    )
    // Nothing was written.
    expect(existsSync(config.output)).toBe(false)
    return error?.message
  }

  test('what cannot be trained on is refused', async () => {
    expect(await refused({ data: jsonl([]) })).toMatch(/no rows|empty/i)
    expect(await refused({ data: fresh('missing') })).toContain('missing')
    expect(await refused({ data: jsonl([{ prompt: 'a' }]) })).toBeDefined()
    expect(await refused({ maxLength: 129 })).toContain(
      'maxLength: 129 tokens do not fit into the context of the model',
    )
    expect(await refused({ model: fresh('no-model') })).toContain('no-model')
  })

  test('a tokenizer of another model is refused', async () => {
    const directory = await modelDirectory(1, { vocabSize: 100 })
    expect(await refused({ model: directory })).toContain('use the tokenizer of the model')
  })

  test('options that say two things at once are refused', () => {
    const problem = (rest: object) =>
      sftSchema.safeParse({ model, data, output: 'run', ...rest }).error?.issues.map(({ path }) => path.join('.'))
    expect(problem({ lora: {}, adapter: 'other' })).toEqual(['adapter'])
    expect(problem({ freezeBackbone: true })).toEqual([''])
  })
})

test('a number that is not finite stops before the weights change, and names the row', async () => {
  const directory = fresh('model-copy')
  cpSync(model, directory, { recursive: true })
  const bad = await LocalModel.load(directory, { role: 'language' })
  // One token's embedding: only the row that has the token meets it.
  const [token] = await tokenizer.encode('zebra')
  const embedding = bad.parts.weights.get('model.embed_tokens.weight')!
  const bytes = embedding.bytes()
  const [, hidden] = embedding.shape as [number, number]
  new Float32Array(bytes.buffer, bytes.byteOffset)[token! * hidden] = Number.NaN
  rmSync(directory, { recursive: true })
  await bad.export(directory, { what: 'model' })
  bad.dispose()
  cpSync(join(model, 'tokenizer.json'), join(directory, 'tokenizer.json'))
  for (const name of ['tokenizer_config.json', 'chat_template.jinja']) cpSync(join(model, name), join(directory, name))
  const rows = [
    { prompt: 'a', completion: 'b' },
    { prompt: 'zebra', completion: 'c' },
    { prompt: 'd', completion: 'e' },
  ]
  const path = jsonl(rows)
  const config = configOf({ model: directory, data: path })
  await expect(runSft(jobOf(config))).rejects.toThrow(`${path}:2: the output of this row is not finite`)
  expect((await Run.read(config.output)).status).toBe('failed')
})
