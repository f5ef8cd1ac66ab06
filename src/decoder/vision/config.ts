/** What the config of a vision-language model says beside its decoder, read as strictly as the rest. */
import { z } from 'zod'
import { ModelError } from '../errors.js'
import { count, expected, flag, positiveNumber, readFields, shown, text } from '../fields.js'
import type { VisionFamily } from './family.js'

type Raw = Readonly<Record<string, unknown>>

/** The sizes of a tower, by the names that its family's file has no say in. */
export interface TowerShape {
  depth: number
  /** Numbers of a row between blocks. */
  width: number
  heads: number
  intermediate: number
  /** Pixels along a side of a patch, frames of a patch, and patches along a side of a token. */
  patch: number
  temporalPatch: number
  merge: number
  /** Width of the decoder that its rows go to. */
  out: number
  /** Tokens along a side of a window, and the blocks that see whole frames instead. Left out: all blocks do. */
  windows?: { side: number; fullBlocks: readonly number[] }
  /** Entries along a side of a learned table of positions. */
  tableSide?: number
  /** Blocks whose rows are added to those of the first layers of the decoder. */
  deepstack: readonly number[]
  /** What a step of a video along time adds to the row of time. */
  videoTime: 'index' | 'text' | { tokensPerSecond: number }
}

export interface VisionConfig extends TowerShape {
  ropeTheta: number
  /** How many pairs of a head turn by time, by height and by width: one after another, or in turns. */
  sections: readonly [time: number, height: number, width: number]
  interleaved: boolean
  /** Ids of placeholders, and of what stands around them. */
  tokens: { image: number; video: number; start: number; end: number }
  /** What the checkpoint calls its parts: `model.` and `visual.`, or `model.language_model.` and `model.visual.`. */
  names: 'flat' | 'nested'
}

const id = z.int(expected('a token id')).nonnegative(expected('a token id'))
const top = z.object({
  image_token_id: id,
  video_token_id: id,
  vision_start_token_id: id,
  vision_end_token_id: id,
  vision_config: z.looseObject({}, expected('an object')),
})

const tower = z.object({
  depth: count,
  num_heads: count,
  patch_size: count,
  spatial_patch_size: count.nullish(),
  temporal_patch_size: count,
  spatial_merge_size: count,
  in_channels: count.nullish(),
  in_chans: count.nullish(),
  hidden_act: text,
  rope_parameters: z.looseObject({ rope_type: text.nullish(), rope_theta: positiveNumber.nullish() }).nullish(),
})
export type TowerFields = z.infer<typeof tower>

const sections = z.object({
  mrope_section: z.array(count, expected('a list of three counts')).length(3, expected('a list of three counts')),
  mrope_interleaved: flag.nullish(),
})

/** Where the decoder's own fields stand: released files have them at the top, those of transformers 5 in `text_config`. */
export function textOf(raw: Raw): Raw {
  const { text_config: nested } = raw
  return typeof nested === 'object' && nested !== null ? (nested as Raw) : raw
}

/** A field of the decoder, from wherever the file has it. */
export const fieldOf = (raw: Raw, name: string): unknown => raw[name] ?? textOf(raw)[name]

/**
 * The decoder's fields of a vision-language config as a text model would have them, and the rope sections, which text models do
 * not have.
 */
export function splitText(raw: Raw, file: string, family: VisionFamily): { text: Raw } & Sections {
  const given = textOf(raw)
  for (const name of family.requiredText)
    if (given[name] == null) throw new ModelError(`${file}: ${name} is missing; it is needed for this family`)
  const holder = ['rope_scaling', 'rope_parameters'].find(name => Object.keys((given[name] as object) ?? {}).length > 0)
  if (!holder) throw new ModelError(`${file}: rope_parameters with mrope_section is missing`)
  const { mrope_section, mrope_interleaved, ...rope } = given[holder] as Record<string, unknown>
  const read = readFields(sections, { mrope_section, mrope_interleaved }, `${file}: ${holder}`)
  const interleaved = read.mrope_interleaved ?? false
  if (interleaved !== family.interleaved)
    throw new ModelError(`${file}: mrope_interleaved ${interleaved} is not supported for this family`)
  if ((rope.rope_theta ?? given.rope_theta) == null) throw new ModelError(`${file}: rope_theta is missing`)
  // Another name for default frequencies.
  for (const name of ['type', 'rope_type']) if (rope[name] === 'mrope') rope[name] = 'default'
  const tied = raw.tie_word_embeddings ?? given.tie_word_embeddings
  const others = { rope_scaling: undefined, rope_parameters: undefined, [holder]: rope }
  return {
    text: { ...given, ...others, ...(tied == null ? {} : { tie_word_embeddings: tied }) },
    sections: read.mrope_section as [number, number, number],
    interleaved,
  }
}

type Sections = Pick<VisionConfig, 'sections' | 'interleaved'>

/** Reads the tower of a parsed config whose decoder is known. */
export function readVision(
  raw: Raw,
  file: string,
  family: VisionFamily,
  decoder: { hidden: number; headDim: number; layers: number } & Sections,
): VisionConfig {
  const given = readFields(top, raw, file)
  const inTower = `${file}: vision_config`
  const fields = readFields(tower, given.vision_config, inTower)
  const refuse = (why: string): never => {
    throw new ModelError(`${inTower}: ${why}`)
  }
  const channels = fields.in_channels ?? fields.in_chans ?? 3
  if (channels !== 3) refuse(`${channels} channels are not supported; only 3 are`)
  if (fields.hidden_act !== family.activation)
    refuse(`hidden_act ${shown(fields.hidden_act)} is not supported for this family; only ${family.activation} is`)
  if (fields.spatial_patch_size != null && fields.spatial_patch_size !== fields.patch_size)
    refuse(`spatial_patch_size ${fields.spatial_patch_size} differs from patch_size ${fields.patch_size}`)
  const { rope_type: ropeType = 'axial', rope_theta: theta } = fields.rope_parameters ?? {}
  if (ropeType !== 'axial' && ropeType !== 'default') refuse(`rope type ${shown(ropeType)} is not supported`)
  const shape: TowerShape = {
    depth: fields.depth,
    heads: fields.num_heads,
    patch: fields.patch_size,
    temporalPatch: fields.temporal_patch_size,
    merge: fields.spatial_merge_size,
    ...family.read(given.vision_config, inTower, fields),
  }
  if (shape.out !== decoder.hidden)
    refuse(`the tower gives rows of ${shape.out} numbers, the decoder takes ${decoder.hidden}`)
  if ((shape.width / shape.heads) % 4 !== 0)
    refuse(`a head of ${shape.width / shape.heads} numbers cannot turn along two axes; expected a multiple of 4`)
  for (const block of [...shape.deepstack, ...(shape.windows?.fullBlocks ?? [])])
    if (block >= shape.depth) refuse(`block ${block} is listed, and the tower has ${shape.depth}`)
  if (shape.deepstack.length >= decoder.layers)
    refuse(`rows for ${shape.deepstack.length} layers of the decoder, which has ${decoder.layers}`)
  const pairs = decoder.sections.reduce((sum, n) => sum + n, 0)
  if (pairs !== decoder.headDim / 2)
    throw new ModelError(`${file}: mrope_section has ${pairs} pairs, a head has ${decoder.headDim / 2}`)
  return {
    ...shape,
    ropeTheta: theta ?? 10000,
    sections: decoder.sections,
    interleaved: decoder.interleaved,
    tokens: {
      image: given.image_token_id,
      video: given.video_token_id,
      start: given.vision_start_token_id,
      end: given.vision_end_token_id,
    },
    names: family.names,
  }
}
