import { existsSync } from 'node:fs'
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import {
  type DemoResult,
  drawCurves,
  examplesTable,
  fullSettings,
  nextSteps,
  quickSettings,
  resultTable,
  runDemo,
  secondsText,
  seedsTable,
  stageText,
} from '../demo/index.js'
import { InputError } from '../errors/index.js'
import { makeDirectory } from '../files/index.js'
import { type Report, reportFor, silentReport } from '../progress/index.js'
import { threads } from '../tensor/index.js'
import { directory, flagHelp, integer, readFlags, toggle } from './flags.js'
import { interruptible } from './interrupt.js'

const flags = z.object({
  out: directory('output directory; must be empty or not exist (default: runs/demo, or the next free name)').optional(),
  seed: integer('seed of the weights, the data and all random numbers', { min: 0 }).default(0),
  seeds: integer('run this many seeds; as a control, run each also with a constant reward', {
    min: 1,
    max: 100,
  }).optional(),
  quick: toggle('small sizes: takes seconds, and the model is not useful'),
})

export const help = `Usage: whetstone demo [options]

Trains a model by reinforcement learning from scratch, on a CPU and without network: makes data, a tokenizer and a
small model, then runs supervised fine-tuning, a reward model, PPO on that reward model and GRPO on a verifier. Shows accuracy
and reward on held-out prompts before and after each stage, draws the curves, and ends with the commands to use the result.

${flagHelp(flags)}
`

type Settings = z.output<typeof flags>

export async function run(args: string[]): Promise<number> {
  const settings = readFlags(args, flags)
  const out = await emptyDirectory(settings.out)
  return interruptible({
    work: signal => demonstrate(out, settings, signal),
    onInterrupt: () => console.error(`Interrupted. The results so far are in ${out}.`),
  })
}

async function demonstrate(out: string, { seed, seeds, quick }: Settings, signal: AbortSignal): Promise<void> {
  const started = performance.now()
  // Tensors this small are faster on one thread.
  threads(1)
  console.log(`Trains a model from scratch to sort digits. Output directory: ${out}.`)
  const results: DemoResult[] = []
  for (let at = seed; at < seed + (seeds ?? 1); at++) {
    if (seeds !== undefined) console.log(`\nseed ${at}`)
    const result = await runDemo({
      directory: seeds === undefined ? out : join(out, `seed-${at}`),
      settings: quick ? quickSettings : fullSettings,
      seed: at,
      control: seeds === undefined ? 'skip' : 'run',
      onStage: stage => console.log(stageText(stage)),
      report: stageReport(),
      signal,
    })
    results.push(result)
    await showResult(result)
  }
  if (results.length > 1) console.log(`\nOver ${seeds} seeds, mean (lowest to highest):\n\n${seedsTable(results)}`)
  await writeFile(join(out, 'demo.json'), `${JSON.stringify(results.map(plain), undefined, 2)}\n`)
  console.log(`\nwall time: ${((performance.now() - started) / 1000).toFixed(1)} s`)
  console.log(`\n${nextSteps(results[0]!.directory)}`)
}

async function showResult(result: DemoResult): Promise<void> {
  const { accuracies } = result.measurements.sft!
  console.log(`\nOn ${accuracies.length} held-out prompts; accuracy is of samples at temperature 1:\n`)
  console.log(resultTable(result))
  console.log('\nThree of them, with three samples of each model:\n')
  console.log(examplesTable(result))
  console.log(`\ncurves: ${(await drawCurves(result.directory, result.curves)).join(', ')}`)
  console.log(`seconds: ${secondsText(result)}`)
}

/** The summaries of the stages would hide the lines of the demo: a terminal keeps their live lines, a log has none. */
function stageReport(): Report {
  return process.stderr.isTTY ? { ...reportFor(process.env), line() {} } : silentReport
}

/** Nothing is overwritten: a demo that is run again goes beside the last one. */
async function emptyDirectory(given: string | undefined): Promise<string> {
  let out = given ?? join('runs', 'demo')
  for (let next = 2; given === undefined && existsSync(out); next++) out = join('runs', `demo-${next}`)
  const entries = await readdir(out).catch((): string[] => [])
  if (entries.length > 0) throw new InputError(`${out}: not empty. Give another directory or remove this one.`)
  await makeDirectory(out)
  return out
}

function plain({ curves, ...rest }: DemoResult): object {
  return { ...rest, curves: curves.map(({ name, metrics }) => ({ name, metrics: Object.fromEntries(metrics) })) }
}
