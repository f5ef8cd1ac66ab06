/** How an engine gets the weights of the policy: it shares them, or reads them from a directory. */
import { createHash } from 'node:crypto'
import { readdir, rm, rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { InputError, isSystemError } from '../../errors/index.js'
import type { Turns } from '../../experience/index.js'
import { makeDirectory } from '../../files/index.js'
import type { RawPixels } from '../../media/index.js'
import type { MultimodalProcessor, PolicyVersion, TokenModel } from '../../model/index.js'
import type { Generator, WeightsProof } from '../../rollout/index.js'
import { type Sequence, supervisedSequence } from '../../sequence/index.js'
import type { Tokenizer } from '../../text/index.js'
import type { RlConfig } from './config.js'

interface WeightSyncOptions {
  readonly actor: TokenModel<'language'>
  readonly generator: Generator
  readonly turns: Pick<Turns, 'use'>
  /** Where weights are written for engines that read them. */
  readonly directory: string
  readonly weights: 'auto' | 'directory' | 'adapter'
  /** Of the actor's computation. */
  readonly dtype: string
  /** What both sides score. */
  readonly proof: ProofText
  /** Ends the wait for servers that are away. */
  readonly signal: AbortSignal
}

/** A text, with an image where the model and the servers read images. */
type ProofText = Pick<WeightsProof, 'ids' | 'media'>

/** Returns a function that pushes the current weights to the engine. */
export function weightSync(options: WeightSyncOptions): () => Promise<void> {
  const { actor, generator, turns, directory, dtype, proof: text, signal } = options
  if (generator.capabilities.weights.includes('shared'))
    return () => generator.updateWeights({ version: actor.version })
  const what = writtenAs(options)
  let given: PolicyVersion | undefined
  return async () => {
    const { version } = actor
    if (given === version) return
    const path = join(directory, `${what}-${version}`)
    await makeDirectory(directory)
    const proof = await turns.use(actor, async (): Promise<WeightsProof> => {
      await actor.export(path, { what })
      const [scored] = await actor.score([sequenceOf(text)])
      return { ...text, logprobs: scored!.logprobs, dtype }
    })
    const written = what === 'adapter' ? { adapter: path } : { directory: path }
    await generator.updateWeights({ version, proof, signal, ...written })
    // Only afterwards: a restarted server gets the same weights as the others.
    await removeOthers(directory, basename(path))
    given = version
  }
}

/** Removes earlier versions, also those of an interrupted run and incomplete ones. Other names are not touched. */
async function removeOthers(directory: string, kept: string | undefined): Promise<void> {
  const ours = /^(model|adapter)-\d+$|^\.(model|adapter)-\d+\./
  for (const name of await readdir(directory))
    if (name !== kept && ours.test(name)) await rm(join(directory, name), { recursive: true, force: true })
}

/** All weights that a run wrote for servers, and their directory where nothing else is in it. */
export async function removeWritten(directory: string): Promise<void> {
  try {
    await removeOthers(directory, undefined)
    await rmdir(directory)
  } catch (error) {
    const harmless = ['ENOENT', 'ENOTEMPTY', 'EEXIST']
    if (!isSystemError(error) || !harmless.includes(error.code ?? '')) throw error
  }
}

function writtenAs({ actor, generator, weights }: WeightSyncOptions): 'model' | 'adapter' {
  const { weights: ways } = generator.capabilities
  const adapter = actor.capabilities.exports.includes('adapter') && ways.includes('adapter')
  if (weights === 'adapter' && !adapter)
    throw new InputError('generator.weights: the servers cannot load adapters', {
      remedy:
        'Start them with LoRA enabled (`whetstone engine start --lora-rank N`), or set generator.weights to directory.',
    })
  // Servers that can load neither say why when they are told to.
  return weights !== 'directory' && adapter ? 'adapter' : 'model'
}

/** Where weights are written for servers to read. Runs in different places may have the same name, and the same directory here. */
export function weightsDirectoryOf({
  output,
  generator: { weightsDirectory },
}: Pick<RlConfig, 'output'> & { generator: Pick<RlConfig['generator'], 'weightsDirectory'> }): string {
  if (weightsDirectory === undefined) return join(output, 'weights')
  const place = createHash('sha256').update(output).digest('hex').slice(0, 8)
  return join(weightsDirectory, `${basename(output)}-${place}`)
}

const proofText =
  'Whetstone asks both sides what they think of this sentence, of 3 + 4 = 7, of "quotes", and of f(x) = x ** 2; then it compares.'

interface ProofOptions {
  readonly tokenizer: Tokenizer
  /** Tokens that both sides take. */
  readonly maxLength: number
  /** Null: the model reads text alone. */
  readonly processor: MultimodalProcessor | null
  readonly generator: Pick<Generator, 'capabilities'>
}

/**
 * What proofs score: a text, in as many tokens as an engine takes. With an image before it, features that an engine kept from older
 * weights of the tower are found too.
 */
export async function proofTextOf({ tokenizer, maxLength, processor, generator }: ProofOptions): Promise<ProofText> {
  const ids = Int32Array.from(await tokenizer.encode(proofText)).slice(0, Math.min(64, maxLength - 1))
  if (!processor || !generator.capabilities.media) return { ids }
  const seen = await processor.process([...processor.placeholder, ...ids], { images: [proofImage()] })
  // Where the smallest image is larger than the context, the text has to do.
  return seen.kind === 'processed' && seen.ids.length < maxLength ? { ids: seen.ids, media: seen.media } : { ids }
}

/** Two gradients: other weights of a tower see them differently. */
function proofImage(side = 64): RawPixels {
  const data = new Uint8Array(3 * side * side)
  for (let at = 0; at < side * side; at++) data.set([4 * (at % side), 4 * Math.floor(at / side), 128], 3 * at)
  return { data, width: side, height: side }
}

function sequenceOf({ ids, media = [] }: ProofText): Sequence | Int32Array {
  if (media.length === 0) return ids
  return supervisedSequence({ ids, media, trained: new Uint8Array(ids.length).fill(1, 1), promptId: 'proof', row: {} })
}
