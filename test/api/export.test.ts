/** `whetstone export --to gguf|hf|--merge` of runs, adapters and models, with the card beside it. */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import { importGguf } from '../../src/gguf/index.js'
import { rewardModel, sft } from '../../src/index.js'
import { exportRun, type Report, silentReport } from '../../src/train/index.js'
import { checksumsOf } from '../support/checksums.js'
import { cli } from '../support/cli.js'
import { fresh, jsonl } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'

const source = await modelDirectory(1)
const rows = Array.from({ length: 4 }, (_, i) => ({ prompt: `Question ${i}:`, completion: ' aeiou' }))
const options = { chatTemplate: 'none', device: 'cpu', batchSize: 2, model: source, optimizer: { lr: 1e-2 } } as const
const run = fresh('full')
const adapters = fresh('adapters')

beforeAll(async () => {
  const data = jsonl(rows)
  await sft({ ...options, data, output: run })
  await sft({ ...options, data, output: adapters, lora: { rank: 2 }, keep: 'adapters' })
})

async function exported(args: readonly string[]): Promise<{ out: string; stdout: string }> {
  const name = args.includes('gguf') ? join(fresh('gguf'), 'mine.gguf') : fresh('hf')
  const { code, stdout, stderr } = await cli(['export', ...args, '--out', name])
  expect({ code, stderr }).toMatchObject({ code: 0 })
  return { out: name, stdout }
}

/** The weights of a GGUF file. */
async function weightsIn(file: string): Promise<Record<string, string>> {
  const out = fresh('back')
  await importGguf(file, { out, dtype: 'float32' })
  return checksumsOf(out)
}

const cardIn = (directory: string): string => readFileSync(join(directory, 'README.md'), 'utf8')

test('a run as a GGUF file: its best model, a Modelfile, and a card with figures and curves', async () => {
  const { out, stdout } = await exported([run, '--to', 'gguf', '--type', 'f32'])
  expect(await weightsIn(out)).toEqual(await checksumsOf(join(run, 'best_model')))
  const folder = dirname(out)
  for (const name of ['Modelfile', 'README.md', 'curves.png']) {
    expect(stdout).toContain(join(folder, name))
    expect(existsSync(join(folder, name))).toBe(true)
  }
  expect(readFileSync(join(folder, 'Modelfile'), 'utf8')).toContain('FROM ./mine.gguf\n')
  for (const part of ['library_name: gguf', '## Figures', '| loss', '![Curves', 'ollama create', 'batchSize: 2'])
    expect(cardIn(folder)).toContain(part)
  expect(cardIn(folder)).not.toContain(source)
  // A second file beside it leaves the card as it is, and says so.
  const again = await cli(['export', run, '--to', 'gguf', '--type', 'q8_0', '--out', join(folder, 'small.gguf')])
  expect(again.stdout).toContain('README.md was there already: no model card was written')
})

test('a checkpoint that the run removes while it is read: the newest one after it, or an error that says so', async () => {
  const live = fresh('live')
  await sft({ ...options, data: jsonl(rows), output: live, saveSteps: 1, epochs: 2, keepCheckpoints: 3 })
  const checkpoints = join(live, 'checkpoints')
  const last = readdirSync(checkpoints).sort().at(-1)!
  const removing = (): Report => {
    const removed = () => rmSync(join(checkpoints, last), { recursive: true, force: true })
    return { ...silentReport, transfer: () => ({ at: removed, end: removed }) }
  }
  const { signal } = new AbortController()
  const of = (step: number | undefined) =>
    exportRun(live, { out: fresh('newest'), what: 'model', step }, { report: removing(), signal })
  const kept = fresh('kept')
  cpSync(checkpoints, kept, { recursive: true })
  await expect(of(Number(last))).rejects.toThrow(
    `${live}: the run removed its checkpoint of step ${Number(last)} while it`,
  )
  cpSync(kept, checkpoints, { recursive: true })
  expect((await of(undefined)).step).toBe(Number(last) - 1)
})

test('a run as a directory in another dtype, with its card', async () => {
  const { out } = await exported([run, '--to', 'hf', '--dtype', 'bfloat16'])
  expect(JSON.parse(readFileSync(join(out, 'config.json'), 'utf8'))).toMatchObject({ dtype: 'bfloat16' })
  expect(cardIn(out)).toContain('library_name: transformers')
  expect(cardIn(out)).toContain('## Figures')
  expect(existsSync(join(out, 'curves.png'))).toBe(true)
})

test('a run that keeps adapters, its adapter, and a model with the adapter merged are the same model', async () => {
  const adapter = join(adapters, 'best_adapter')
  const merged = await exported([source, '--merge', adapter])
  const expected = await checksumsOf(merged.out)
  expect(expected).not.toEqual(await checksumsOf(source))
  // The best adapter is the model of the run, not the newest checkpoint.
  rmSync(join(adapters, 'checkpoints'), { recursive: true })
  for (const model of [adapters, adapter]) {
    const { out } = await exported([model, '--to', 'hf'])
    expect(await checksumsOf(out)).toEqual(expected)
    const file = await exported([model, '--to', 'gguf', '--type', 'f32'])
    expect(await weightsIn(file.out)).toEqual(expected)
    for (const folder of [out, dirname(file.out), merged.out]) {
      expect(cardIn(folder)).toContain('## Figures')
      expect(cardIn(folder)).toContain('- lora')
    }
  }
})

test('an adapter that no run made: the card names the base model', async () => {
  const adapter = fresh('lonely-adapter')
  cpSync(join(adapters, 'best_adapter'), adapter, { recursive: true })
  const { out } = await exported([source, '--merge', adapter, '--to', 'gguf'])
  const base = source.split('/').at(-1)!
  expect(cardIn(dirname(out))).toContain(`- Base model: ${base}\n`)
  const two = await cli(['export', adapter, '--merge', join(adapters, 'best_adapter'), '--out', fresh('two')])
  expect(two.stderr).toMatch(/is a LoRA adapter, and .* is another/)
})

test('what is exported is not replaced, and what is no adapter is not merged', async () => {
  const file = join(fresh('own'), 'own.gguf')
  expect((await cli(['export', source, '--to', 'gguf', '--out', file])).code).toBe(0)
  for (const own of [
    [source],
    [file, '--to', 'gguf', '--type', 'q4_0'],
    [source, '--merge', join(adapters, 'best_adapter')],
  ]) {
    const out = own.at(-1)!.endsWith('adapter') ? own.at(-1)! : own[0]!
    const { code, stderr } = await cli(['export', ...own, '--out', out])
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('it is what is exported') })
  }
  const { stderr } = await cli(['export', source, '--merge', source, '--out', fresh('merged')])
  expect(stderr).toContain(`${source} has no adapter_config.json; expected an adapter in PEFT format`)
})

test('a GGUF file as a directory: messages and the card have its name', async () => {
  vi.stubEnv('WHETSTONE_CACHE', fresh('cache'))
  const { out: file } = await exported([source, '--to', 'gguf', '--type', 'f32'])
  const { out, stdout } = await exported([file, '--to', 'hf'])
  vi.unstubAllEnvs()
  expect(await checksumsOf(out)).toEqual(await checksumsOf(source))
  expect(stdout).toContain(`${out}: ${file}, `)
  expect(cardIn(out)).toContain('# mine\n')
})

test('a card that a model has travels with it', async () => {
  const model = fresh('carded')
  cpSync(source, model, { recursive: true })
  cpSync(new URL('../../README.md', import.meta.url).pathname, join(model, 'README.md'))
  const { out } = await exported([model, '--to', 'hf'])
  expect(cardIn(out)).toBe(cardIn(model))
})

test('a reward model is a directory, and no GGUF file', async () => {
  const output = fresh('reward-run')
  const data = jsonl(rows.map(({ prompt }) => ({ prompt, chosen: ' yes', rejected: ' no' })))
  await rewardModel({ ...options, data, output })
  const { out } = await exported([output, '--to', 'hf'])
  expect(cardIn(out)).toContain('pipeline_tag: text-classification')
  const refused = await cli(['export', output, '--to', 'gguf', '--out', join(fresh('no'), 'no.gguf')])
  expect({ code: refused.code, stderr: refused.stderr }).toEqual({
    code: 1,
    stderr: expect.stringContaining('reward or value model'),
  })
})
