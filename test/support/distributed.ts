/** Trainings to compare between numbers of ranks. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DistributedModel, type ReplicaOptions, type World } from '../../src/distributed/index.js'
import {
  type Gradients,
  LocalModel,
  type ModelInput,
  type Outputs,
  type Role,
  type TokenModel,
} from '../../src/model/index.js'
import { keep, scope } from '../../src/tensor/index.js'
import { temporary } from './models.js'
import { tinyConfig } from './tiny-model.js'

/** A directory of a tiny model with random weights. */
export async function tinyDirectory(role: Role): Promise<string> {
  const model = await LocalModel.create(tinyConfig('qwen2'), { seed: 1, role })
  const directory = temporary(`tiny-${role}`)
  await model.export(directory, { what: 'model' })
  model.dispose()
  return directory
}

/** A gradient that depends on the sequence and the token alone. */
export function gradients<R extends Role>(outputs: readonly Outputs[R][], indices: readonly number[]): Gradients[R][] {
  return outputs.map((output, k) => {
    const numbers = (values: ArrayLike<number>): Float32Array =>
      Float32Array.from(values, (_, t) => -0.3 * (1.5 + Math.sin(indices[k]! + 0.7 * t)))
    if ('logprobs' in output)
      return {
        logprobs: numbers(output.logprobs),
        ...(output.entropies && { entropies: output.entropies.map(() => -0.01) }),
      }
    return 'values' in output ? { values: numbers(output.values) } : { score: numbers([0])[0]! }
  }) as Gradients[R][]
}

/**
 * Steps with clipping, decay and a falling rate; `batch` gives the sequences of each. Some gradients are zero but for rounding (of the
 * biases of keys); with a small epsilon AdamW would make whole steps of them.
 */
export async function trainSteps<R extends Role>(
  model: TokenModel<R>,
  steps: number,
  batch: (step: number) => readonly ModelInput[],
): Promise<number[]> {
  const norms: number[] = []
  for (let i = 0; i < steps; i++) {
    await model.forwardBackward(batch(i), (outputs, indices) => gradients<R>(outputs, indices))
    norms.push((await model.step({ lr: 1e-2 / (1 + i), clipNorm: 1, weightDecay: 0.1, eps: 1e-4 })).norm)
  }
  return norms
}

/** What is trained or not, as float32 by name. */
export async function weightsOf(model: object): Promise<Map<string, Float32Array>> {
  const local = model instanceof DistributedModel ? model.local : (model as LocalModel)
  const all = [...local.parts.weights, ...(local.adapter?.tensors() ?? [])]
  const found = new Map<string, Float32Array>()
  for (const [name, tensor] of all) {
    const wide = scope(() => keep(tensor.detach().to(undefined, 'float32')))
    found.set(name, (await wide.data<'float32'>()) as Float32Array)
    wide.dispose()
  }
  return found
}

/** Of a model that was written. */
export async function weightsOfDirectory(
  directory: string,
  role: Role = 'language',
): Promise<Map<string, Float32Array>> {
  const loaded = await LocalModel.load(directory, { role })
  const weights = await weightsOf(loaded)
  loaded.dispose()
  return weights
}

/** The same model in one process and over the ranks. */
export async function bothWays<R extends Role>(
  world: World,
  directory: string,
  options: ReplicaOptions<R>,
): Promise<[LocalModel<R>, DistributedModel<R>]> {
  return [await LocalModel.load<R>(directory, options), await DistributedModel.load<R>(world, directory, options)]
}

/** Rows or samples of every step: ids of rows, tokens. */
export function journalOf(run: string): unknown[] {
  const directory = join(run, 'journal')
  const texts = readdirSync(directory, { recursive: true })
    .filter(name => String(name).endsWith('.jsonl'))
    .sort()
    .map(name => readFileSync(join(directory, String(name)), 'utf8'))
  return texts
    .join('')
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line))
}

/** The tokens of every sample and turn, in an order that does not depend on which was ready first. */
export function samplesOf(run: string): string[] {
  const lines = journalOf(run) as { record: { kind: string; promptId?: string; sample?: number } }[]
  const made = lines.map(({ record }) => record).filter(({ kind }) => kind === 'outcome' || kind === 'turn')
  return made.map(({ promptId, sample, ...rest }) => `${promptId} ${sample} ${tokensOf(rest)}`).sort()
}

/** Ids are integers of the journal; log-probabilities of two ranks differ in their last bits. */
function tokensOf(record: object): string {
  const found = JSON.stringify(record).match(/"\$int32":"[^"]*"/g) ?? []
  return found.join(' ')
}
