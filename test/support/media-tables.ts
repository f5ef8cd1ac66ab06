/** Numbers of independent implementations (transformers, Pillow, vLLM, SGLang): test/fixtures/media/preprocess.json. */
import { readFileSync } from 'node:fs'
import type { PositionRules, VisionFamily } from '../../src/media/index.js'
import type { MediaPixels } from '../../src/sequence/index.js'

export type Grid = MediaPixels['grid']

interface Table {
  readonly columns: readonly string[]
  /** Null where the size is refused. */
  readonly rows: readonly (number | null)[][]
}

type Sampling = readonly (readonly [total: number, fps: number, asked: number, indices: number[] | null])[]

interface Tables {
  readonly smart_resize: Table
  readonly smart_resize_qwen3_video: Table
  readonly frame_sampling: { readonly qwen2_vl: Sampling; readonly qwen3_vl: Sampling }
  readonly timestamps: {
    readonly rows: readonly (readonly [indices: number[], fps: number, texts: string[]])[]
    readonly one_decimal: readonly (readonly [seconds: number, text: string])[]
  }
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
  readonly expansion: readonly {
    readonly family: VisionFamily
    readonly text: string
    readonly image_grid_thw: readonly Grid[]
    readonly video_grid_thw: readonly Grid[]
    readonly video_fps: number
    readonly frames_indices: readonly number[][]
    readonly ids: readonly number[]
    readonly ids_transformers_4_57: readonly number[]
  }[]
  readonly decode: Readonly<
    Record<
      string,
      {
        readonly size: readonly [width: number, height: number]
        readonly rgb_sha256?: string
        readonly on_white_sha256?: string
        readonly oriented_sha256?: string
        readonly oriented_size?: readonly [width: number, height: number]
        readonly frames?: readonly string[]
        readonly duration_ms?: number
      }
    >
  >
  readonly resize: Readonly<
    Record<string, { readonly input: [number, number]; readonly output: [number, number]; readonly sha256: string }>
  >
}

export const mediaTables = JSON.parse(
  readFileSync(new URL('../fixtures/media/preprocess.json', import.meta.url), 'utf8'),
) as Tables

/** The special tokens of the tables, and of the models beside them. */
export const tableTokens = { visionStartId: 3, visionEndId: 4, imageId: 5, videoId: 6 }

export function positionRules(family: VisionFamily, tokensPerSecond = 2): PositionRules {
  const videoTime = { qwen2_vl: 'index', qwen2_5_vl: { tokensPerSecond }, qwen3_vl: 'text' } as const
  return { mergeSize: 2, videoTime: videoTime[family] }
}

/** Media without pixels. */
export function gridOnly(kind: MediaPixels['kind'], grid: Grid, secondsPerGrid?: number): MediaPixels {
  const hash = `${kind} ${grid}`
  const pixels = { kind, hash, frames: new Uint8Array(), grid }
  return secondsPerGrid === undefined ? pixels : { ...pixels, secondsPerGrid }
}
