/** Numbers of independent implementations (transformers, Pillow, vLLM, SGLang): test/fixtures/media/preprocess.json. */
import { readFileSync } from 'node:fs'
import type { PositionRules } from '../../src/media/index.js'

export type VisionFamily = 'qwen2_vl' | 'qwen2_5_vl' | 'qwen3_vl'
export type Grid = readonly [time: number, height: number, width: number]

interface Tables {
  readonly positions: readonly {
    readonly family: VisionFamily
    readonly tokens_per_second: number
    readonly ids: readonly number[]
    readonly media: readonly {
      readonly kind: 'image' | 'video'
      readonly grid_thw: Grid
      readonly seconds_per_grid?: number
    }[]
    readonly position_ids: readonly number[][]
    readonly rope_delta: number
  }[]
}

export const mediaTables = JSON.parse(
  readFileSync(new URL('../fixtures/media/preprocess.json', import.meta.url), 'utf8'),
) as Tables

/** The special tokens of the tables. */
export const tableTokens = { visionStart: 3, visionEnd: 4, image: 5, video: 6 }

export function positionRules(family: VisionFamily, tokensPerSecond: number): PositionRules {
  const videoTime = { qwen2_vl: 'index', qwen2_5_vl: { tokensPerSecond }, qwen3_vl: 'text' } as const
  return { mergeSize: 2, videoTime: videoTime[family] }
}
