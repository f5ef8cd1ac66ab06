/** Metrics, stages and alerts. Types of `../api.ts`. */

// ---- curves

export interface MetricInfo {
  readonly name: string
  /** The part before the first slash: `reward`, `kl`, `loss`. */
  readonly group: string
  readonly unit: string
  readonly meaning: string
  readonly points: number
  readonly last: number | null
  /** The last value as people read it: `1.2 GB`, `3.4 s`. */
  readonly text: string
  /** One of the few to look at first. */
  readonly main: boolean
}

export interface MetricsAnswer {
  /** What steps count. */
  readonly across: 'step' | 'iteration'
  readonly metrics: readonly MetricInfo[]
}

export interface CurvesQuery {
  /** Names, separated by commas. */
  readonly metrics: string
  /** The range of steps, both ends included. Default: all. */
  readonly from?: number
  readonly to?: number
  /** Most points of a curve; more are thinned. Default 2000. */
  readonly points?: number
}

export interface CurvesAnswer {
  readonly curves: readonly Curve[]
}

/** Where a curve is thinned, each point stands for a range of steps: its last step, the mean, and the extremes of it. */
export interface Curve {
  readonly metric: string
  readonly steps: readonly number[]
  /** `null`: NaN or infinite. */
  readonly values: readonly (number | null)[]
  /** Undefined where every point is one step. */
  readonly low?: readonly (number | null)[]
  readonly high?: readonly (number | null)[]
}

// ---- stages

export interface StagesQuery {
  readonly from?: number
  readonly to?: number
  /** Most iterations to show; more are thinned to means. Default 400. */
  readonly points?: number
}

export interface StagesAnswer {
  /** What steps count. */
  readonly across: 'step' | 'iteration'
  /** In the order in which they happen. */
  readonly stages: readonly string[]
  readonly iterations: readonly {
    readonly step: number
    /** When its metrics were logged. */
    readonly time: number
    /** By stage; `total` is all of it. */
    readonly seconds: Readonly<Record<string, number>>
    readonly staleness: number | null
    /** Rollouts that were generated ahead of their turn, for asynchronous runs. */
    readonly queue: number | null
    readonly tokensPerSecond: number | null
    readonly memory: { readonly rss: number | null; readonly device: number | null; readonly devicePeak: number | null }
  }[]
  /** In words: the stage that took most, and its share. */
  readonly slowest: { readonly stage: string; readonly share: number; readonly text: string } | null
}

// ---- alerts

export interface Alert {
  readonly id: string
  readonly message: string
  /** What to look at. */
  readonly advice: string
  /** Metrics to show beside it. */
  readonly metrics: readonly string[]
  /** A page of the docs, and its section. */
  readonly page: string
  /** The step at which it was first said, and whether it still holds. */
  readonly step: number
  readonly holds: boolean
}

export interface AlertsAnswer {
  readonly alerts: readonly Alert[]
}
