/** Detects weights that do not change although there is a gradient. */
const window = 10
const lowest = 0.001

export class ChangeWatch {
  private recent: number[] = []
  private warned = false

  /** Gives a warning, once, when ten steps in a row together changed fewer than 0.1 % of the 16-bit weights. */
  step(metrics: Readonly<Record<string, number>>): string | undefined {
    const { 'weights/changed': changed, 'grad/norm': norm } = metrics
    if (changed === undefined || !norm || this.warned) return undefined
    this.recent = [...this.recent, changed].slice(-window)
    const sum = this.recent.reduce((all, one) => all + one, 0)
    if (this.recent.length < window || sum >= lowest) return undefined
    this.warned = true
    return `the last ${window} optimiser steps changed only ${percent(sum)} of the 16-bit weights, so the model hardly changes: the learning rate is too small for this dtype, or masters is exact (docs/precision.md)`
  }
}

const percent = (share: number): string => `${(100 * share).toPrecision(2)} %`
