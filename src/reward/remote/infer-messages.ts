/** `ModelInfer` for rewards: samples to input tensors, an output tensor to rewards. */

import { asRead } from '../../sequence/index.js'
import { SourceError } from '../errors.js'
import type { RewardInput } from '../input.js'
import { pngFrames } from '../media.js'
import type { InferRequest, InferResponse, InferTensor, ModelMetadata } from './open-inference.js'
import { rawInt64, rawTexts, readNumbers } from './tensor-contents.js'

/** The input tensors of a model, and its output tensor. */
export interface Signature {
  readonly inputs: readonly { readonly name: string; readonly rank: number }[]
  readonly output: string
}

const texts: Readonly<Record<string, (input: RewardInput) => string>> = {
  TEXT: input => input.query,
  PROMPT: input => input.promptRaw,
  RESPONSE: input => input.response,
  LABEL: input => input.label ?? '',
  REFERENCE: input => {
    if (input.target === undefined) throw new SourceError('input', 'the model wants a REFERENCE; the sample has none')
    return typeof input.target === 'string' ? input.target : JSON.stringify(input.target)
  },
}
/** Lists in JSON, of PNG files in base64: one for each image, and a list of frames for each video. */
const media: Readonly<Record<string, (input: RewardInput) => Promise<unknown>>> = {
  IMAGES: ({ images = [] }) => Promise.all(images.map(async image => (await pngFrames(image))[0])),
  VIDEOS: ({ videos = [] }) => Promise.all(videos.map(pngFrames)),
}
const idNames = ['INPUT_IDS', 'ATTENTION_MASK']
const known = [...Object.keys(texts), ...Object.keys(media), ...idNames]

/** From the model's metadata; without metadata, texts in and rewards out. */
export function signatureFrom(metadata: ModelMetadata | undefined): Signature {
  if (!metadata || metadata.inputs.length === 0) return { inputs: [{ name: 'TEXT', rank: 2 }], output: 'REWARD' }
  for (const { name, datatype } of metadata.inputs) {
    if (!known.includes(name))
      throw new SourceError('refused', `the model takes a tensor ${name}; rewards can send ${known.join(', ')}`)
    const expected = texts[name] || media[name] ? 'BYTES' : 'INT64'
    if (datatype !== expected)
      throw new SourceError('refused', `the model takes ${name} as ${datatype}; rewards send it as ${expected}`)
  }
  const outputs = metadata.outputs.map(({ name }) => name)
  const output = outputs.includes('REWARD') ? 'REWARD' : outputs[0]
  if (output === undefined || (output !== 'REWARD' && outputs.length > 1))
    throw new SourceError('refused', `the model's outputs are ${outputs.join(', ') || 'none'}; one should be REWARD`)
  return { inputs: metadata.inputs.map(({ name, shape }) => ({ name, rank: shape.length })), output }
}

interface InferOptions {
  readonly model: string
  readonly version: string
  readonly id: string
  readonly contents: 'raw' | 'typed'
  readonly media: 'send' | 'omit'
}

export async function buildInfer(
  inputs: readonly RewardInput[],
  signature: Signature,
  options: InferOptions,
): Promise<InferRequest> {
  if (options.media === 'send') refuseUnsent(inputs, signature)
  const request: InferRequest = {
    model_name: options.model,
    model_version: options.version,
    id: options.id,
    inputs: [],
    outputs: [{ name: signature.output }],
    raw_input_contents: [],
  }
  // Raw contents are in the order of the inputs, for all of them or for none.
  const add = (tensor: Omit<InferTensor, 'contents'>, typed: InferTensor['contents'], raw: () => Buffer) => {
    if (options.contents === 'typed') request.inputs.push({ ...tensor, contents: typed ?? null })
    else {
      request.inputs.push(tensor)
      request.raw_input_contents.push(raw())
    }
  }
  for (const { name, rank } of signature.inputs) {
    const text = texts[name]
    const list = media[name]
    if (text || list) {
      const values = list
        ? await Promise.all(inputs.map(async input => JSON.stringify(await list(input))))
        : inputs.map(text!)
      const shape = rank === 1 ? [inputs.length] : [inputs.length, 1]
      const bytes_contents = values.map(value => Buffer.from(value, 'utf8'))
      add({ name, datatype: 'BYTES', shape }, { bytes_contents }, () => rawTexts(values))
    } else {
      const { values, width } = padded(inputs, name === 'INPUT_IDS' ? id => id : () => 1)
      const shape = [inputs.length, width]
      add({ name, datatype: 'INT64', shape }, { int64_contents: values }, () => rawInt64(values))
    }
  }
  return request
}

/** Never a score of the text alone where there is more to see. */
function refuseUnsent(inputs: readonly RewardInput[], signature: Signature): void {
  const taken = new Set(signature.inputs.map(({ name }) => name))
  for (const [name, field] of [
    ['IMAGES', 'images'],
    ['VIDEOS', 'videos'],
    ['AUDIOS', 'audios'],
  ] as const)
    if (!taken.has(name) && inputs.some(input => (input[field]?.length ?? 0) > 0))
      throw new SourceError(
        'input',
        `the sample has ${field}, and the model takes no tensor ${name}; set media to omit to judge the text alone`,
      )
}

/** Pads ids with zeros on the right; the mask marks the ids. */
function padded(inputs: readonly RewardInput[], value: (id: number) => number): { values: number[]; width: number } {
  const rows = inputs.map(({ sequence }) => [...asRead(sequence).ids])
  if (rows.some(row => row.length === 0))
    throw new SourceError('input', 'the model wants INPUT_IDS; the sample has no ids')
  const width = Math.max(...rows.map(row => row.length))
  return {
    width,
    values: rows.flatMap(row => Array.from({ length: width }, (_, i) => (i < row.length ? value(row[i]!) : 0))),
  }
}

export function readInfer(answer: InferResponse, request: InferRequest, signature: Signature, count: number): number[] {
  if (answer.id !== '' && answer.id !== request.id)
    throw new SourceError('protocol', 'the answer belongs to another request', { repeat: 'retryable' })
  const index = answer.outputs.findIndex(({ name }) => name === signature.output)
  if (index < 0) {
    const names = answer.outputs.map(({ name }) => name).join(', ') || 'none'
    throw new SourceError('protocol', `no output ${signature.output} in the answer (there are: ${names})`)
  }
  const output = answer.outputs[index]!
  const raw = answer.raw_output_contents
  if (raw.length > 0 && raw.length !== answer.outputs.length)
    throw new SourceError('protocol', `${raw.length} raw contents for ${answer.outputs.length} outputs`)
  const numbers = readNumbers(output, raw[index])
  const shape = output.shape.map(Number)
  const size = shape.reduce((product, n) => product * n, 1)
  if (size !== numbers.length)
    throw new SourceError('protocol', `output ${output.name}: ${numbers.length} numbers in a shape of [${shape}]`)
  if (numbers.length !== count)
    throw new SourceError('wrong-count', `the server gave ${numbers.length} rewards for ${count} samples`)
  return numbers
}
