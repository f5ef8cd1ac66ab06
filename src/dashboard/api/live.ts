/** What a page is told by itself. Types of `../api.ts`. */
import type { RunStatusName } from './runs.js'

/** What changed, so that a page asks for it. A slow page misses events and never delays a run. */
export type LiveEvent =
  | { readonly kind: 'runs' }
  | {
      readonly kind: 'run'
      readonly run: string
      readonly status: RunStatusName
      readonly step: number
      readonly listening: boolean
    }
  | { readonly kind: 'metrics'; readonly run: string; readonly step: number }
  | { readonly kind: 'samples'; readonly run: string; readonly samples: number }
  | { readonly kind: 'acts'; readonly run: string }
