import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { MediaItem, MediaPixels, Sequence } from '../../src/sequence/index.js'
import { supervisedSequence } from '../../src/sequence/index.js'
import { SafetensorsFile } from '../../src/tensor/index.js'
import { fixture, readCase, temporary } from './models.js'

// Tiny random vision-language models, with the numbers that three versions of transformers, vLLM and a second implementation agree on.
export const visionFamilies = ['qwen2_5_vl', 'qwen2_vl', 'qwen3_vl'] as const
export type VisionName = (typeof visionFamilies)[number]

interface Steps {
  losses: number[]
  grad_norms_step0: Record<string, number>
  global_grad_norm_step0: number
  after_3_steps_last_logits_first64: number[][]
  optimizer: string
}

export interface VisionCase {
  token_ids: Record<string, number>
  forbidden: number[]
  media: Record<
    string,
    { kind: 'image' | 'video'; grid_thw: [number, number, number]; seconds_per_grid?: number; tokens: number }
  >
  rows: {
    media: string[]
    ids: number[]
    prompt_length: number
    position_ids: number[][]
    rope_delta: number
    token_logprobs: number[]
    entropy: number[]
    argmax: number[]
    last_logits_first256: number[]
    greedy_12: number[]
  }[]
  vision: Record<
    string,
    { first_row: number[]; last_row: number[]; row_sums: number[]; deepstack_row_sums?: number[][] }
  >
  train: Steps
  train_frozen_vision: Steps
  /** How far log-probabilities move for a named mistake. */
  sensitivity: Record<string, number>
}

export interface VisionGolden {
  directory: string
  golden: VisionCase
  pixels: ReadonlyMap<string, MediaPixels>
  /** Every token but the first is trained. */
  sequences: readonly Sequence[]
  /** The tokens of the response are trained. */
  responses: readonly Sequence[]
}

export async function readVisionCase(name: VisionName): Promise<VisionGolden> {
  const golden = readCase<VisionCase>(name)
  const directory = fixture(name)
  const file = await SafetensorsFile.open(join(directory, 'media.safetensors'))
  const pixels = new Map<string, MediaPixels>()
  for (const [item, { kind, grid_thw: grid, seconds_per_grid: secondsPerGrid }] of Object.entries(golden.media)) {
    const read = await file.read(`${item}.resized`)
    const frames = await read.data<'uint8'>()
    read.dispose()
    pixels.set(item, {
      ...{ kind, grid, frames: frames as Uint8Array, hash: `${name} ${item}` },
      ...(secondsPerGrid === undefined ? {} : { secondsPerGrid }),
    })
  }
  await file.close()
  const sequencesFrom = (first: (row: VisionCase['rows'][number]) => number) =>
    golden.rows.map((row, i) => {
      const ids = Int32Array.from(row.ids)
      const trained = new Uint8Array(ids.length).fill(1, first(row))
      const media = placed(
        ids,
        row.media.map(item => pixels.get(item)!),
        golden,
      )
      return supervisedSequence({ ids, trained, media, promptId: `row ${i}`, row: {} })
    })
  const responses = sequencesFrom(row => row.prompt_length)
  return { directory, golden, pixels, sequences: sequencesFrom(() => 1), responses }
}

/** The runs of placeholders among ids, given to the items in their order. */
export function placed(
  ids: Int32Array,
  items: readonly MediaPixels[],
  { token_ids }: Pick<VisionCase, 'token_ids'>,
): MediaItem[] {
  let at = 0
  return items.map(pixels => {
    const pad = token_ids[`<|${pixels.kind}_pad|>`]!
    const [time, height, width] = pixels.grid
    let left = (time * height * width) / 4
    const runs: { start: number; count: number }[] = []
    while (left > 0) {
      const start = ids.indexOf(pad, at)
      let count = 0
      while (ids[start + count] === pad && count < left) count++
      if (start < 0) throw new Error('the ids have too few placeholders')
      runs.push({ start, count })
      at = start + count
      left -= count
    }
    return { pixels, runs }
  })
}

/** The model with the config.json that its releases have. */
export function releasedSpelling(name: VisionName): string {
  const directory = temporary(`${name}-released`)
  mkdirSync(directory, { recursive: true })
  for (const file of readdirSync(fixture(name)))
    if (file !== 'config.json' && file !== 'case.json') copyFileSync(join(fixture(name), file), join(directory, file))
  copyFileSync(join(fixture(name), 'config.hub.json'), join(directory, 'config.json'))
  return directory
}
