/** A run that a program started with rows, a function and live parts survives `kill -9`: resumed from code it ends with the same bits. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runWhetstone, startChild } from '../support/child.js'
import { compiledRoom } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'

const model = await modelDirectory(1)
const folder = temporaryDirectory()
const program = join(folder, 'train.mjs')
writeFileSync(
  program,
  `import { grpo, LocalModel, Tokenizer } from ${JSON.stringify(compiledRoom('.'))}
import { LocalEngine } from ${JSON.stringify(compiledRoom('rollout'))}
const [output, mode] = process.argv.slice(2)
const model = await LocalModel.load(${JSON.stringify(model)}, { role: 'language', device: 'cpu' })
const reference = await LocalModel.load(${JSON.stringify(model)}, { role: 'language', device: 'cpu' })
const tokenizer = await Tokenizer.load(${JSON.stringify(model)})
const generator = new LocalEngine(model, { tokenizer })
const rows = Array.from({ length: 6 }, (_, i) => ({ prompt: 'Question ' + i + ':', letter: 'aeiou'[i % 5] }))
const run = grpo({
  model, reference, tokenizer, generator, data: rows, output,
  rewards: ({ response, row }) => [...response].filter(one => one === row.letter).length / 8,
  iterations: 6, rolloutBatchSize: 2, nSamplesPerPrompt: 4, maxNewTokens: 8, saveSteps: 2,
  chatTemplate: 'none', optimizer: { lr: 1e-3 }, klController: { kind: 'fixed', coef: 0.05 },
  resume: mode === 'resume',
})
for await (const event of run) {
  if (event.kind === 'step') console.log('step', event.step)
  if (event.kind === 'step' && mode === 'die' && event.step === 3) await new Promise(resolve => setTimeout(resolve, 60_000))
}
console.log((await run).outcome)
process.exit()
`,
)
const weights = (run: string): Buffer => readFileSync(join(folder, run, 'final_model', 'model.safetensors'))

async function whole(...args: string[]): Promise<void> {
  const { code, output } = await startChild(program, args).ended
  expect(code, output).toBe(0)
  expect(output).toContain('finished')
}

test('killed after a step and resumed from code: the same weights, and the command replays it', async () => {
  await whole(join(folder, 'uninterrupted'))
  const killed = startChild(program, [join(folder, 'killed'), 'die'])
  await killed.waitFor(/step 3\n/)
  expect((await killed.kill('SIGKILL')).signal).toBe('SIGKILL')
  await whole(join(folder, 'killed'), 'resume')
  expect(weights('killed').equals(weights('uninterrupted'))).toBe(true)
  for (const run of ['killed', 'uninterrupted']) {
    const { code, output } = await runWhetstone(['replay', join(folder, run)])
    expect(output).toContain('6 iterations, 48 samples')
    expect(output).toContain('all equal to the training batches')
    expect(code).toBe(0)
  }
}, 180_000)
