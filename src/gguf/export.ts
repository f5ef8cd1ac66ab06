/** A Hugging Face directory as a GGUF file, as llama.cpp's converter writes it, tensor by tensor. */
import { basename, resolve } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type DecoderConfig, type ModelConfig, readConfig } from '../decoder/index.js'
import { Checkpoint } from '../tensor/index.js'
import { readVocabulary, type Vocabulary } from '../text/index.js'
import { type Architecture, architectureOf, unrotatedEvery } from './architectures.js'
import { dequantize } from './dequantize.js'
import { GgufError } from './errors.js'
import { type ReadDtype, readDtypes } from './file.js'
import { permuteHeads } from './permute.js'
import { quantize, type WrittenType } from './quantize.js'
import { ropeFactors } from './rope-factors.js'
import { type NamedTensor, namedTensors } from './tensor-names.js'
import { bytesOf, tensorTypes } from './tensor-types.js'
import { tokenizerMetadata } from './tokenizer-out.js'
import { type TypedValue, type WriteGgufOptions, type WrittenTensor, writeGguf } from './write-file.js'

export interface ExportGgufOptions extends WriteGgufOptions {
  /** The file to write. */
  readonly out: string
  /** Of the matrices. Default: bf16 for a bfloat16 checkpoint, else f16. */
  readonly type?: WrittenType | undefined
  /** `general.name`. Default: the name of the directory. */
  readonly name?: string | undefined
}

interface ExportedGguf {
  readonly type: WrittenType
  readonly parameters: number
  readonly bytes: number
  /** What a user should know: tensors of another type, things that llama.cpp does otherwise. */
  readonly notes: readonly string[]
  readonly vocabulary: Vocabulary
  /** llama.cpp puts a bos before each text. */
  readonly addsBos: boolean
  readonly context: number
}

/** `general.file_type`. */
const fileTypes: Readonly<Record<WrittenType, number>> = { f32: 0, f16: 1, q4_0: 2, q8_0: 7, bf16: 32 }

/** Numbers of a piece: about a millisecond of work. */
const pieceNumbers = 1 << 16

/**
 * Writes a model directory as a GGUF file for llama.cpp, Ollama and their like.
 *
 * @example
 * await exportGguf('runs/grpo/final_model', { out: 'model.gguf', type: 'q8_0' })
 */
export async function exportGguf(directory: string, options: ExportGgufOptions): Promise<ExportedGguf> {
  const config = await readConfig(directory)
  const architecture = checkExpressible(config, directory)
  const { decoder } = config
  const vocabulary = await readVocabulary(directory)
  const tokenizer = await tokenizerMetadata(vocabulary, { rows: decoder.vocabSize, directory })
  const checkpoint = await Checkpoint.open(directory)
  try {
    const named = namedTensors(decoder, architecture)
    checkTensors(checkpoint, named, directory)
    const type = options.type ?? (checkpoint.info(named[0]!.checkpoint).dtype === 'bfloat16' ? 'bf16' : 'f16')
    const { tensors, notes } = planTensors(checkpoint, named, { decoder, type })
    const parameters = named.reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0)
    const metadata = new Map<string, TypedValue>([
      ['general.architecture', { text: architecture.name }],
      ['general.type', { text: 'model' }],
      ['general.name', { text: options.name ?? basename(resolve(directory)) }],
      ['general.size_label', { text: sizeLabel(parameters) }],
      ...modelEntries(decoder, architecture.name),
      ['general.file_type', { u32: fileTypes[type] }],
      ...tokenizer.entries,
      ['general.quantization_version', { u32: 2 }],
    ])
    const bytes = await writeGguf(options.out, { metadata, tensors }, options)
    return {
      ...{ type, parameters, bytes, vocabulary },
      notes: [...notes, ...tokenizer.notes],
      addsBos: tokenizer.addsBos,
      context: decoder.context,
    }
  } finally {
    await checkpoint.close()
  }
}

/** Refuses what llama.cpp would compute otherwise, or cannot load. */
function checkExpressible({ decoder, head }: ModelConfig, directory: string): Architecture {
  const refuse = (why: string): never => {
    throw new GgufError(`${directory}: ${why}`)
  }
  if (head === 'score')
    refuse(
      'this is a reward or value model: its head gives one number per token, and llama.cpp runs models that give text',
    )
  const architecture =
    architectureOf(decoder.family) ??
    refuse('models that read images are not supported; a GGUF file here holds text models')
  const { name, biases } = architecture
  if (decoder.qkvBias && biases === 'none') refuse(`llama.cpp's ${name} has no biases in attention (attention_bias)`)
  if (decoder.ropeScaling && name !== 'llama')
    refuse(`llama.cpp has Llama 3's rope scaling for Llama models alone, not for ${name}`)
  if (
    decoder.ropeLayers !== 'all' &&
    decoder.ropeLayers.some((rotates, i) => rotates !== ((i + 1) % unrotatedEvery !== 0))
  )
    refuse(
      `llama.cpp's ${name} does not rotate every ${unrotatedEvery}th layer; this model has others (no_rope_layers)`,
    )
  return architecture
}

function checkTensors(checkpoint: Checkpoint, named: readonly NamedTensor[], directory: string): void {
  for (const { checkpoint: name, shape } of named) {
    if (!checkpoint.has(name)) throw new GgufError(`${directory}: the weights have no tensor ${name}`)
    const info = checkpoint.info(name)
    if (info.shape.join() !== shape.join())
      throw new GgufError(
        `${directory}: ${name} has the sizes ${info.shape.join(' x ')}, expected ${shape.join(' x ')}`,
      )
    if (!Object.hasOwn(readDtypes, info.dtype))
      throw new GgufError(
        `${directory}: ${name} has the dtype ${info.dtype}; expected ${Object.keys(readDtypes).join(', ')}`,
      )
  }
}

function modelEntries(decoder: DecoderConfig, name: string): (readonly [string, TypedValue])[] {
  const { layers, context, hidden, intermediate, heads, kvHeads, headDim, ropeTheta, normEps, vocabSize } = decoder
  return [
    [`${name}.block_count`, { u32: layers }],
    [`${name}.context_length`, { u32: context }],
    [`${name}.embedding_length`, { u32: hidden }],
    [`${name}.feed_forward_length`, { u32: intermediate }],
    [`${name}.attention.head_count`, { u32: heads }],
    [`${name}.attention.head_count_kv`, { u32: kvHeads }],
    [`${name}.rope.freq_base`, { f32: ropeTheta }],
    [`${name}.attention.layer_norm_rms_epsilon`, { f32: normEps }],
    [`${name}.attention.key_length`, { u32: headDim }],
    [`${name}.attention.value_length`, { u32: headDim }],
    [`${name}.vocab_size`, { u32: vocabSize }],
    [`${name}.rope.dimension_count`, { u32: headDim }],
  ]
}

/** As llama.cpp's converter writes it: 135M, 7.6B. */
function sizeLabel(parameters: number): string {
  const [scale, suffix] = parameters >= 1e9 ? [1e9, 'B'] : parameters >= 1e6 ? [1e6, 'M'] : [1e3, 'K']
  const value = parameters / scale
  return `${value < 10 ? Number(value.toFixed(1)) : Math.round(value)}${suffix}`
}

function planTensors(
  checkpoint: Checkpoint,
  named: readonly NamedTensor[],
  { decoder, type }: { decoder: DecoderConfig; type: WrittenType },
): { tensors: WrittenTensor[]; notes: string[] } {
  const narrow: string[] = []
  const tensors = named.map((tensor): WrittenTensor => {
    const { gguf, shape } = tensor
    const wanted = typeFor(tensor, { decoder, type })
    const fits = shape.at(-1)! % tensorTypes[wanted].block === 0
    if (!fits) narrow.push(gguf)
    const chosen = fits ? wanted : 'f16'
    return { name: gguf, type: chosen, shape, pieces: () => pieces(checkpoint, tensor, chosen) }
  })
  const notes =
    narrow.length === 0
      ? []
      : [
          `${narrow.length} tensors are f16: their rows are no multiple of ${tensorTypes[type].block} numbers (${narrow[0]})`,
        ]
  return { tensors: [...ropeTensor(decoder), ...tensors], notes }
}

/**
 * Norms and biases stay float32, as llama.cpp has them. In a q4_0 file the matrix that gives the logits is q8_0: llama.cpp's own
 * quantiser gives it more bits too.
 */
function typeFor(
  { shape, checkpoint }: NamedTensor,
  { decoder, type }: { decoder: DecoderConfig; type: WrittenType },
): WrittenType {
  if (shape.length === 1) return 'f32'
  const output = decoder.tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight'
  return type === 'q4_0' && checkpoint === output ? 'q8_0' : type
}

function ropeTensor(decoder: DecoderConfig): WrittenTensor[] {
  if (!decoder.ropeScaling) return []
  const factors = ropeFactors(decoder, decoder.ropeScaling)
  const bytes = new Uint8Array(factors.buffer)
  return [
    {
      name: 'rope_freqs.weight',
      type: 'f32',
      shape: [factors.length],
      async *pieces() {
        yield bytes
      },
    },
  ]
}

/** A tensor's bytes in the type they are written in. */
async function* pieces(
  checkpoint: Checkpoint,
  { checkpoint: name, shape, permutedHeads }: NamedTensor,
  type: WrittenType,
): AsyncGenerator<Uint8Array> {
  const tensor = await checkpoint.read(name)
  try {
    const stored = readDtypes[tensor.dtype as ReadDtype]
    let bytes = tensor.bytes()
    if (permutedHeads !== undefined)
      bytes = await permuteHeads(bytes, { rows: shape[0]!, heads: permutedHeads, to: 'alternating' })
    if (stored === type) return yield bytes
    for (let done = 0; done < tensor.numel; done += pieceNumbers) {
      const count = Math.min(pieceNumbers, tensor.numel - done)
      const floats = new Float32Array(count)
      dequantize[stored](bytes.subarray(bytesOf(stored, done), bytesOf(stored, done + count)), floats)
      const piece = new Uint8Array(bytesOf(type, count))
      quantize[type](floats, piece)
      yield piece
      await nextTurn()
    }
  } finally {
    tensor.dispose()
  }
}
