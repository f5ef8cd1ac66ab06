/** What makes a family of vision towers: everything that differs between them. Each is a file beside this one. */
import type { FusedOps } from '../../kernels/index.js'
import type { Tensor } from '../../tensor/index.js'
import type { Weight } from '../weight-map.js'
import type { TowerFields, TowerShape, VisionConfig } from './config.js'

export interface VisionFamily {
  /** `hidden_act` of its blocks. */
  activation: string
  /** Rope sections of the decoder in turns, or one after another. */
  interleaved: boolean
  /** Fields of the decoder without which its numbers would be guessed. */
  requiredText: readonly string[]
  /** What its released checkpoints call their parts. */
  names: VisionConfig['names']
  /** Mean and standard deviation of pixels, from 0 to 1, that its released models were trained with. */
  pixels: { mean: readonly [number, number, number]; std: readonly [number, number, number] }
  /** Its own fields of `vision_config`. */
  read(
    raw: Readonly<Record<string, unknown>>,
    file: string,
    fields: TowerFields,
  ): Omit<TowerShape, 'depth' | 'heads' | 'patch' | 'temporalPatch' | 'merge'>
  /** Its tensors, by names that begin with `visual.`, in the order of computation. */
  weights(config: VisionConfig): readonly Weight[]
  /** A norm, by its name. */
  norm(tower: Tower, name: string, x: Tensor): Tensor
  /** The part of a block behind attention; `at` is the block's name. */
  mlp(tower: Tower, at: string, x: Tensor): Tensor
  /** The rows after the last block to the decoder's, and those after the blocks of `deepstack` to what is added to its layers. */
  merge(tower: Tower, states: readonly Tensor[]): readonly Tensor[]
}

/** A tower to compute with. */
export interface Tower {
  config: VisionConfig
  family: VisionFamily
  ops: FusedOps
  /** A tensor by its name without `visual.`; null where there is none. */
  weight(name: string): Tensor | null
}

/** Of every norm of a tower, whatever its config says. */
export const normEps = 1e-6

/** `x` times the matrix `NAME.weight`, and `NAME.bias` where there is one. */
export function project(tower: Tower, name: string, x: Tensor): Tensor {
  return tower.ops.linear(x, tower.weight(`${name}.weight`)!, tower.weight(`${name}.bias`))
}

/** Rows side by side, as many as make a token. */
export function sideBySide({ config: { merge, width } }: Tower, x: Tensor): Tensor {
  return x.reshape([-1, merge * merge * width])
}

/** Makes the list of a tower's weights. */
export class WeightList {
  readonly weights: Weight[] = []

  whole(name: string, shape: readonly number[], kind: Weight['kind']): this {
    return this.add(name, shape, kind, [{ name: `visual.${name}`, rows: shape[0]! }])
  }

  /** `NAME.weight` and `NAME.bias`. */
  linear(name: string, shape: readonly [rows: number, columns: number]): this {
    return this.whole(`${name}.weight`, shape, 'matrix').whole(`${name}.bias`, [shape[0]], 'bias')
  }

  /** Two projections of the same input as one matrix. */
  pair(name: string, names: readonly [string, string], [rows, columns]: readonly [number, number]): this {
    const parts = (suffix: string) => names.map(part => ({ name: `visual.${part}.${suffix}`, rows }))
    return this.add(`${name}.weight`, [2 * rows, columns], 'matrix', parts('weight')).add(
      `${name}.bias`,
      [2 * rows],
      'bias',
      parts('bias'),
    )
  }

  /** A norm with a bias. */
  layerNorm(name: string, width: number): this {
    return this.whole(`${name}.weight`, [width], 'norm').whole(`${name}.bias`, [width], 'bias')
  }

  private add(name: string, shape: readonly number[], kind: Weight['kind'], parts: Weight['parts']): this {
    this.weights.push({ name: `visual.${name}`, shape, kind, parts })
    return this
  }
}
